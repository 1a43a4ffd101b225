# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files of boards and designs that were cut, damaged or never were any: each ends in an error of ours."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from pathlib import Path

import pytest
from eddy.board.images import image_files, package
from eddy.board.port.profile import load_profile
from eddy.board.pynq import firmware, fpga_manager
from eddy.board.pynq.handoff import parse_handoff
from eddy.core.errors import EddyError, ImageRefused, InvalidRequest
from eddy_sim.boards.download import read_download
from eddy_sim.boards.loader import LoadRefused
from eddy_sim.design import bitfile
from eddy_sim.design.addressmap import argument_map, slot_ip, static_ips
from eddy_sim.design.hwh import overlay_hwh, partial_hwh
from eddy_sim.device import SimDevice

ROOT = Path(__file__).resolve().parents[4]
PART, SHELL = "xck26-sfvc784-2LV-c", "39a575c5838c8ca5"
IDENTITY = bitfile.Identity("dct", "0f975cf133d442d5", SHELL, 0, PART)
BIT = bitfile.make(IDENTITY, 4096)
IMAGE = {
    "module": "dct",
    "build": "0f975cf133d442d5",
    "shell": SHELL,
    "slot": 0,
    "bytes": 4096,
    "clk_hz": 1e8,
    "sha256": "0" * 64,
}
BOARD = {"part": PART, "shell": SHELL, "slots": [{"index": 0, "region": "slot0", "image_bytes": 4096}]}
HWH = overlay_hwh("eddy", PART, 100e6, static_ips(2, 100e6, engine=False)).encode()
PARTIAL = partial_hwh("dct", PART, slot_ip(0, "dct", "eddy:hls:dct:1.0", argument_map(()))).encode()
WHOLE = (
    b"",
    b"\0",
    b"{}",
    b"[]",
    b"null",
    b'"x"',
    b"1e999",
    b"\xff\xfe",
    b"[" * 100_000,
    b"<a/>",
    b"PK\3\4",
    b'{"slots": 3}',
)
SEEDS = range(120)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Cut, with bytes changed, put in or taken out, or something else altogether."""
    at, to = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    noise = rng.randbytes(rng.randrange(1, 20))
    near = rng.randrange(min(len(data), 300))  # where headers are
    return rng.choice(
        (
            data[:at],
            data[:at] + noise + data[at + len(noise) :],
            data[:at] + noise + data[at:],
            data[:at] + data[to:],
            data[:near] + noise + data[near + len(noise) :],
            rng.choice(WHOLE),
        )
    )


def bent(text: bytes, rng: random.Random) -> bytes:
    """XML that is well-formed, and lacks elements or attributes, or has others."""
    root = Xml.fromstring(text)
    for _ in range(rng.randrange(1, 4)):
        element = rng.choice(list(root.iter()))
        if element.attrib and rng.random() < 0.5:
            name = rng.choice(list(element.attrib))
            value = rng.choice(("", "-1", "0xZZ", "9" * 30, None))
            element.attrib = {**element.attrib, name: value} if value is not None else {}
        elif len(element):
            element.remove(rng.choice(list(element)))
        else:
            element.tag = "OTHER"
    return Xml.tostring(root)


def read_handoff(path: Path, partial: bool = False) -> None:
    SimDevice("kv260").get_bitfile_metadata(str(path.with_suffix(".bit")), partial)


def of_bit(read: Callable[[bytes], object]) -> Callable[[Path], object]:
    return lambda folder: read((folder / "eddy.bit").read_bytes())


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a .bit, by the simulated port": ("eddy.bit", of_bit(lambda data: bitfile.identity_of(bitfile.split(data)[1]))),
    "a .bit, on the simulated board": (
        "dct__slot0.bit",
        lambda folder: read_download(folder / "dct__slot0.bit", True, load_profile("kv260"), lambda _: None),
    ),
    "a .bit, by its header": ("eddy.bit", of_bit(image_files.payload_bytes)),
    "a .bit, for the kernel": ("eddy.bit", of_bit(fpga_manager.to_binary)),
    "an image's manifest": (
        "dct__slot0.json",
        lambda folder: image_files.image_of(image_files.read_manifest(folder / "dct__slot0.json"), folder),
    ),
    "a board's manifest": ("eddy.json", lambda folder: firmware.import_package(folder / "pack", folder)),
    "a package's shell.json": ("pack/shell.json", lambda folder: firmware.import_package(folder / "pack", folder)),
    "a package's accel.json": (
        "pack/dct/dct_slot0/accel.json",
        lambda folder: firmware.import_package(folder / "pack", folder),
    ),
    "a package's .bit.bin": (
        "pack/dct/dct_slot0/dct_slot0.bit.bin",
        lambda folder: firmware.import_package(folder / "pack", folder),
    ),
    "a board's manifest, exported": ("eddy.json", lambda folder: firmware.export_package(folder, folder / "out")),
    "an image, exported": ("dct__slot0.bit", lambda folder: firmware.export_package(folder, folder / "out")),
    "a board's list of files": ("package.json", lambda folder: package.checked(folder, "kv260", (), False)),
    "a .hwh": ("eddy.hwh", lambda folder: read_handoff(folder / "eddy.hwh")),
    "a module's .hwh": ("dct__slot0.hwh", lambda folder: read_handoff(folder / "dct__slot0.hwh", True)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A board's images, and a package made of them."""
    files = {
        **{
            "eddy.bit": BIT,
            "dct__slot0.bit": BIT,
            "eddy.hwh": HWH,
            "dct__slot0.hwh": PARTIAL,
            "eddy.dtbo": b"\xd0\x0d",
        },
        **{"eddy.json": json.dumps(BOARD).encode(), "dct__slot0.json": json.dumps(IMAGE).encode()},
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    firmware.export_package(tmp_path, tmp_path / "pack")
    listed = {path.name: package._sha256(path) for path in tmp_path.iterdir() if path.is_file()}
    (tmp_path / "package.json").write_text(json.dumps({"profile": "kv260", "files": listed}))
    return tmp_path


@pytest.mark.parametrize("name", READERS)
def test_what_is_malformed_is_an_error_of_ours_or_is_taken(name: str, folder: Path) -> None:
    file, read = READERS[name]
    path, refused = folder / file, 0
    whole = path.read_bytes()
    for seed in SEEDS:
        rng = random.Random(f"{name} {seed}")
        path.write_bytes(bent(whole, rng) if path.suffix == ".hwh" and seed % 2 else damaged(whole, rng))
        shutil.rmtree(folder / "out", ignore_errors=True)
        try:
            outcome = read(folder)
        except (EddyError, OSError):
            refused += 1
        else:
            refused += any(getattr(each, "refused", "") for each in outcome) if isinstance(outcome, tuple) else 0
    assert refused > len(SEEDS) / 4, "most of it is noticed"


def test_a_design_without_a_processing_system(tmp_path: Path) -> None:
    """PYNQ ends in an IndexError."""
    root = Xml.fromstring(HWH)
    modules = root.find("MODULES")
    assert modules is not None
    for module in [each for each in modules if each.get("MODTYPE") == "zynq_ultra_ps_e"]:
        modules.remove(module)
    (tmp_path / "eddy.hwh").write_bytes(Xml.tostring(root))
    with pytest.raises(ImageRefused, match=r"eddy\.hwh has no processing system.*export it again") as refused:
        read_handoff(tmp_path / "eddy.hwh")
    assert refused.value.details["reason"] == "damaged"


def test_a_handoff_that_is_not_there_or_is_the_boards_own_trouble(tmp_path: Path) -> None:
    with (
        pytest.raises(ImageRefused, match=r"cannot be read \(No such file or directory\)"),
        parse_handoff(tmp_path / "no.hwh"),
    ):
        pytest.fail("it is looked for first")
    (tmp_path / "eddy.hwh").write_bytes(HWH)
    for trouble in (OSError(5, "EIO"), RuntimeError("PYNQ says so"), LoadRefused(5, "no"), InvalidRequest("no")):
        with pytest.raises(type(trouble)) as raised, parse_handoff(tmp_path / "eddy.hwh"):
            raise trouble
        assert raised.value is trouble
    with pytest.raises(ImageRefused, match=re.escape("(KeyError: 'x')")), parse_handoff(tmp_path / "eddy.hwh"):
        raise KeyError("x")


@pytest.mark.parametrize("record", [{"slot": "0"}, {"build": "none"}, {"part": 3}, {"more": 1}, {"module": None}])
def test_an_identity_of_other_types_is_damaged(record: dict[str, object]) -> None:
    said = {"module": "dct", "build": "0f", "shell": SHELL, "slot": 0, "part": PART, **record}
    text = json.dumps(said).encode()
    body = bitfile._SYNC + b"EDDY" + len(text).to_bytes(4, "big") + text
    with pytest.raises(InvalidRequest, match="identity record is damaged"):
        bitfile.identity_of(body)


def test_the_tool_that_converts_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.bit").write_bytes(BIT[:50])
    for file, said in ((tmp_path / "a.bit", "not a .bit file"), (tmp_path / "none.bit", "No such file")):
        command = [sys.executable, f"{ROOT}/tools/bit2bin.py", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert said in done.stderr
