# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Packages of /lib/firmware/xilinx: what fits becomes an image the board admits; the rest is refused with a reason."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.pynq.firmware import import_package
from eddy.cli.main import app
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Pool, SlotDescription
from typer.testing import CliRunner

PART, SHELL, SIZE = "xck26-sfvc784-2LV-c", "39a575c5838c8ca5", 4096
PAYLOAD = bytes.fromhex("ffffffff000000bb11220044ffffffffaa995566") + bytes(range(256)) * 16
PAYLOAD = PAYLOAD[:SIZE]
BOOT_IMAGE = bytes.fromhex("14000000" * 8 + "665599aa584e4c58") + bytes(SIZE)
"""How bootgen's output begins for `[authentication=rsa, destination_device=pl]`, and without."""
SLOTS = [{"index": n, "region": f"slot{n}", "image_bytes": SIZE, "pool": "pipeline", "clk_hz": 1e8} for n in range(2)]


def swapped(data: bytes) -> bytes:
    return b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "eddy.json").write_text(json.dumps({"part": PART, "shell": SHELL, "slots": SLOTS}))
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "edges"
    folder.mkdir()
    said = {"shell_type": "PL_DFX", "num_pl_slots": "2", "eddy": {"shell": SHELL}}
    (folder / "shell.json").write_text(json.dumps(said))
    return folder


def add(base: Path, slot: int = 0, data: bytes = PAYLOAD, file: str = "sobel.bin", **changes: Any) -> Path:
    folder = base / "sobel" / f"sobel_slot{slot}"
    folder.mkdir(parents=True)
    ours = {"module": "sobel", "build": "0f975cf133d442d5", "clk_hz": 1e8}
    said = {"accel_type": "SIHA_PL_DFX", "accel_devices": [], "eddy": ours, **changes}
    (folder / "accel.json").write_text(json.dumps({name: value for name, value in said.items() if value is not None}))
    (folder / file).write_bytes(data)
    (folder / "sobel.dtbo").write_bytes(b"ignored")
    return folder


def test_what_fits_is_an_image_that_the_board_admits(base: Path, images: Path) -> None:
    add(base, 0, PAYLOAD)
    add(base, 1, swapped(PAYLOAD), "sobel.bit.bin")
    outcomes = import_package(base, images)
    assert [(each.module, each.slot, each.refused) for each in outcomes] == [("sobel", 0, ""), ("sobel", 1, "")]
    store = ImageStore(images)
    for image in store.images():
        slot = SlotDescription(image.slot, f"slot{image.slot}", Pool.PIPELINE, SIZE, 1e8)
        admitted, file = store.admit(image.sha256, slot, SHELL, Trust(False))
        assert file.read_bytes().endswith(PAYLOAD), "in the order of a .bit, whatever it came in"
        assert (admitted.build, admitted.bytes) == ("0f975cf133d442d5", SIZE)
    store.close()
    made = {path.name: path.read_bytes() for path in images.iterdir()}
    import_package(base, images)
    assert {path.name: path.read_bytes() for path in images.iterdir()} == made, "again changes nothing"
    again = base.with_name("again")
    base.rename(again)
    whole = again / "sobel" / "sobel_slot0"
    (whole / "sobel.bin").unlink()
    (whole / "sobel.bit").write_bytes(made["sobel__slot0.bit"])
    assert not any(each.refused for each in import_package(again, images))
    assert (images / "sobel__slot0.bit").read_bytes() == made["sobel__slot0.bit"], "its own .bit is read too"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"shell_type": "XRT_FLAT"}, "it configures the whole device"),
        ({"num_pl_slots": 3}, "a shell with 3 slots; this board's has 2"),
        ({"eddy": {"shell": "0" * 16}}, "was built for shell 0000"),
        ({"eddy": None}, "does not say for which shell"),
        ({"eddy": "yes"}, "does not say for which shell"),
    ],
)
def test_a_package_for_another_shell_is_refused_whole(base: Path, images: Path, said: dict[str, Any], why: str) -> None:
    add(base)
    known = json.loads((base / "shell.json").read_text())
    (base / "shell.json").write_text(json.dumps({**known, **said}))
    with pytest.raises(InvalidRequest, match=why):
        import_package(base, images)
    assert [path.name for path in images.iterdir()] == ["eddy.json"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"accel_type": "XRT_AIE"}, "no slot takes it"),
        ({"slot": 2}, "this board has no slot 2"),
        ({"eddy": None}, "has no `eddy` with module, build and clk_hz"),
        ({"eddy": {"module": "sobel", "clk_hz": 1e8}}, "build is None"),
        ({"eddy": {"module": "../x", "build": "0f", "clk_hz": 1e8}}, "is no name of a module"),
        ({"data": PAYLOAD + bytes(4)}, "has 4,100 bytes; the largest for slot 0 has 4 KiB"),
        ({"data": BOOT_IMAGE}, "a secure load that fails clears the whole fabric"),
        ({"data": bytes(SIZE)}, "no synchronisation word"),
        ({"file": "sobel.bit"}, "header is damaged"),
        ({"file": "sobel.txt"}, "has 0 bitstreams"),
    ],
)
def test_an_accelerator_that_does_not_fit_is_refused_alone(
    base: Path, images: Path, changes: dict[str, Any], why: str
) -> None:
    add(base, **changes)
    add(base, 1)
    refused, other = sorted(import_package(base, images), key=lambda each: not each.refused)
    assert why in refused.refused
    assert (other.module, other.slot) == ("sobel", 1)
    assert sorted(path.name for path in images.iterdir()) == ["eddy.json", "sobel__slot1.bit", "sobel__slot1.json"]


def test_another_part_two_bitstreams_and_a_folder_without_a_slot(base: Path, images: Path) -> None:
    first = add(base, 0)
    import_package(base, images)
    bit = (images / "sobel__slot0.bit").read_bytes()
    (first / "sobel.bin").unlink()
    (first / "a.bit").write_bytes(bit.replace(PART.encode(), PART.upper().encode()))
    (found,) = import_package(base, images)
    assert f"built for part {PART.upper()}" in found.refused
    (first / "b.bit").write_bytes(bit)
    (found,) = import_package(base, images)
    assert "has 2 bitstreams (a.bit, b.bit)" in found.refused
    first.rename(first.with_name("sobel"))
    (found,) = import_package(base, images)
    assert "does not name a slot" in found.refused


def test_the_command(base: Path, images: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert "has no accelerator" in run(app, ["import", str(base), "--images", str(images)]).stderr
    add(base)
    done = run(app, ["import", str(base), "--images", str(images), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["imported"][0]["module"]) == (0, "sobel")
    add(base, 1, accel_type="XRT_AIE")
    done = run(app, ["import", str(base), "--images", str(images)])
    assert (done.exit_code, "imported sobel for slot 0" in done.stderr, "refused" in done.stderr) == (1, True, True)
    assert run(app, ["import", str(tmp_path / "nothing"), "--images", str(images)]).exit_code == 2
    (base / "shell.json").write_text("{")
    assert "is no JSON" in run(app, ["import", str(base), "--images", str(images)]).stderr


def test_a_folder_without_the_boards_images_is_named(base: Path, tmp_path: Path) -> None:
    for command, package in (("import", base), ("export", tmp_path / "out")):
        done = CliRunner().invoke(app, [command, str(package), "--images", str(tmp_path)])
        assert (done.exit_code, f"{tmp_path} has no eddy.json" in done.stderr) == (2, True)


def test_an_exported_package_brings_the_same_images(base: Path, images: Path, tmp_path: Path) -> None:
    add(base, 0)
    add(base, 1, PAYLOAD[:-64])
    import_package(base, images)
    (images / "eddy.bit").write_bytes((images / "sobel__slot0.bit").read_bytes())
    (images / "eddy.dtbo").write_bytes(b"overlay")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--images", str(images), "--json"])
    assert done.exit_code == 0, done.output
    assert [(each["module"], each["slot"]) for each in json.loads(done.stdout)["exported"]] == [
        ("sobel", 0),
        ("sobel", 1),
    ]
    assert (tmp_path / "out/sobel/sobel_slot0/sobel_slot0.bit.bin").read_bytes() == swapped(PAYLOAD)
    assert (tmp_path / "out/out.bit.bin").read_bytes() == swapped(PAYLOAD)
    assert (tmp_path / "out/out.dtbo").read_bytes() == b"overlay"
    other = tmp_path / "other"
    other.mkdir()
    (other / "eddy.json").write_text((images / "eddy.json").read_text())
    assert not any(each.refused for each in import_package(tmp_path / "out", other))
    for name in ("sobel__slot0", "sobel__slot1"):
        for suffix in (".bit", ".json"):
            assert (other / name).with_suffix(suffix).read_bytes() == (images / name).with_suffix(suffix).read_bytes()
    again = CliRunner().invoke(app, ["export", str(tmp_path / "out"), "--images", str(images)])
    assert again.exit_code != 0
    assert "exists; export to a folder that is not there yet" in again.output


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a module that leaves the folder": ({"module": "../../../etc/passwd"}, "no name of a module"),
    "a module of half a pair": ({"module": "\ud800"}, "no name of a module"),
    "a module too long for a header": ({"module": "m" * 70_000}, "no name of a module"),
    "a module too long for a file": ({"module": "m" * 300}, "no name of a module"),
    "a module that is a list": ({"module": ["sobel"]}, "no name of a module"),
    "no clock": ({"clk_hz": None}, "clk_hz"),
    "a clock that stands": ({"clk_hz": 0}, "clk_hz"),
    "a clock that is no number": ({"clk_hz": float("nan")}, "clk_hz"),
    "a clock without end": ({"clk_hz": float("inf")}, "clk_hz"),
    "a build that is a number": ({"build": 17}, "build"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_description_is_refused_with_a_reason(base: Path, images: Path, name: str) -> None:
    changes, reason = HOSTILE[name]
    ours = {"module": "sobel", "build": "0f975cf133d442d5", "clk_hz": 1e8, **changes}
    add(base, 0, eddy=ours)
    add(base, 1)
    first, second = import_package(base, images)
    assert reason in first.refused
    assert len(first.refused) < 300
    assert second.file, "its neighbour is none the worse"
    assert sorted(path.name for path in images.iterdir()) == ["eddy.json", "sobel__slot1.bit", "sobel__slot1.json"]
    assert sorted(path.name for path in images.parent.iterdir()) == ["edges", "images"]


def test_neither_a_pipe_nor_a_file_without_end_holds_the_import_up(base: Path, images: Path) -> None:
    pipe = add(base, 0)
    (pipe / "accel.json").unlink()
    os.mkfifo(pipe / "accel.json")
    large = add(base, 1)
    with (large / "sobel.bin").open("r+b") as file:
        file.truncate(1 << 40)  # of holes: nobody's disk holds it
    outcomes = import_package(base, images)
    assert "is no file" in outcomes[0].refused
    assert "at most 8 KiB are read" in outcomes[1].refused
    (base / "shell.json").write_text("[" * 100_000)
    with pytest.raises(InvalidRequest, match="no JSON"):
        import_package(base, images)
    with (base / "shell.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(InvalidRequest, match="are read"):
        import_package(base, images)


def test_of_two_images_for_one_slot_none_replaces_the_other(base: Path, images: Path) -> None:
    add(base, 0)
    twin = base / "twin" / "other_slot0"
    twin.mkdir(parents=True)
    for file in (base / "sobel" / "sobel_slot0").iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    (twin / "sobel.bin").write_bytes(PAYLOAD[:-4] + b"evil")
    first, second = import_package(base, images)
    assert first.file
    assert "has sobel for slot 0 already" in second.refused
    assert (images / "sobel__slot0.bit").read_bytes().endswith(PAYLOAD)
