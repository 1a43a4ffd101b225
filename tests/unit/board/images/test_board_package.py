# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's package: packed from what a build leaves, with a stand-in for Vivado, and checked before it is taken."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fake_vivado
import pytest
from eddy.board.images.images import ImageStore
from eddy.board.images.package import LIST, checked, put, seal
from eddy.board.images.signing import Trust, generate, load_key
from eddy.board.port.profile import load_profile
from eddy.core.errors import EddyError
from eddy.host.trust import load_trusted_keys
from eddy_drivers.regs import window
from eddy_sim.design.bitstreams import fits, modules
from eddy_sim.design.build import module_build_hash
from pynq.pl_server.hwh_parser import _HWHUltrascale
from pynqmetadata.frontends import Metadata  # type: ignore[import-untyped]
from pynqmetadata.views.runtime import RuntimeMetadataParser  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools"))
from board_flow.floorplan import read_boards  # noqa: E402
from board_flow.package import PackingFailed, pack  # noqa: E402

BOARD = "kv260"
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("tclsh", "dtc", "make"))),
    reason="needs tclsh, dtc and make (Debian: apt install tcl device-tree-compiler make)",
)
group = pytest.mark.xdist_group("board-package")


def make(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The one command that builds a board, Vivado's part dry."""
    vivado = out / "vivado"
    out.mkdir(exist_ok=True)
    vivado.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(fake_vivado.__file__)} "$@"\n')
    vivado.chmod(0o755)
    command = ["make", "-C", str(ROOT / "hw/vivado"), BOARD, f"OUT={out}", f"VIVADO={vivado}", f"PY={sys.executable}"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run([*command, *options], capture_output=True, text=True, env=clean)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build, packed and signed."""
    out = tmp_path_factory.mktemp("vivado") / "out"
    generate(out.with_name("release.key"))
    done = make(out, f"KEY={out.with_name('release.key')}")
    assert done.returncode == 0, done.stderr
    assert "signed" in done.stdout
    return out / BOARD


def keys_of(built: Path) -> Path:
    folder = built.parent.parent / "keys"
    folder.mkdir(exist_ok=True)
    shutil.copy(built.parent.parent / "release.key.pub", folder)
    return folder


@group
@needs_tools
def test_every_slot_has_an_image_of_every_module_that_fits_with_the_identity_it_was_built_with(built: Path) -> None:
    images = [json_image(path) for path in sorted((built / "package").glob("*__slot*.json"))]
    profile = load_profile(BOARD)
    wanted = {(module.module, slot.index) for module in modules() for slot in profile.slots if fits(module, slot)}
    assert {(image["module"], image["slot"]) for image in images} == wanted
    shell = json.loads((built / "package/eddy.json").read_text())["shell"]
    asked = (built / fake_vivado.LOG).read_text()
    assert f"-top {BOARD} " in asked
    assert re.search(rf"-top {BOARD} .*BuildHash=64'h{shell}", asked)
    for image in images:
        assert image["shell"] == shell
        assert image["build"] == f"{module_build_hash(image['module']):016x}"
    for module in modules():
        lines = [line for line in asked.splitlines() if f"-top {module.top} " in line]
        assert any(f"BuildHash=64'h{module_build_hash(module.module):016x}" in line for line in lines), module.module
    assert {image["scrub_build"] == image["build"] for image in images if image["module"] == "dct"} == {True}


def json_image(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@group
@needs_tools
def test_both_parsers_of_pynq_read_the_handoff_of_a_board(built: Path) -> None:
    parsed = RuntimeMetadataParser(Metadata(input=str(built / "package/eddy.hwh")))
    assert parsed.ip_dict["icap_engine"]["phys_addr"] == window.BASE + window.ENGINE.offset
    slots = len(load_profile(BOARD).slots)
    blocks = {"shell", "axi_intc_0", "icap_engine"} | {
        name for k in range(slots) for name in (f"slot_clk{k}", f"slot_ctrl{k}", f"slot{k}/module")
    }
    addressed = {name for name, details in parsed.ip_dict.items() if "phys_addr" in details}
    assert addressed == blocks, "the counters of the simulated memory are not on a board"
    partial = _HWHUltrascale(str(built / "package/dct__slot1.hwh"))
    assert [details["phys_addr"] for details in partial.ip_dict.values()] == [0xA011_0000]


@group
@needs_tools
def test_a_board_takes_the_package_and_its_signed_images(built: Path, tmp_path: Path) -> None:
    keys, package = keys_of(built), built / "package"
    names = checked(package, BOARD, load_trusted_keys(keys), required=True)
    assert {"eddy.bit", "eddy.hwh", "eddy.json", "eddy.dtbo", "dct__slot0.bit", "dct__slot0.hwh"} <= set(names)
    put(package, names, tmp_path / "firmware" / BOARD)
    put(package, names, tmp_path / "firmware" / BOARD)
    assert {path.name for path in (tmp_path / "firmware" / BOARD).iterdir()} == {*names, LIST}
    assert [path.name for path in (tmp_path / "firmware").iterdir()] == [BOARD]
    trust = Trust.load(True, keys)
    for image in ImageStore(tmp_path / "firmware" / BOARD).images():
        trust.check(image)


@group
@needs_tools
def test_one_module_is_built_against_what_is_there(built: Path, tmp_path: Path) -> None:
    """The static part keeps the identity it was built with, whatever its sources say now."""
    out = tmp_path / "out"
    shutil.copytree(built.parent, out)
    file = out / BOARD / "identities.tcl"
    file.write_text(re.sub(r"(?<=identity static )\w+", "feed" * 4, file.read_text()))
    done = make(out, "MODULES=dct")
    assert done.returncode == 0, done.stderr
    asked = (out / BOARD / fake_vivado.LOG).read_text()
    assert "write_abstract_shell" not in asked
    assert asked.count("write_bitstream") == len(load_profile(BOARD).slots)
    assert json_image(out / BOARD / "package/dct__slot0.json")["shell"] == "feed" * 4
    assert "not signed" in done.stdout


@group
@needs_tools
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("part", "is for xczu7ev-ffvc1156-2-e; the board has xck26"),
        ("large", "say what was measured (measured_bytes"),
        ("cut", "cut short"),
        ("full", "is no partial image"),
        ("identities", "build the whole board"),
    ],
)
def test_what_cannot_be_packed_says_why(built: Path, tmp_path: Path, harm: str, said: str) -> None:
    from eddy_sim.design.bitfile import header

    shutil.copytree(built, tmp_path / "built", ignore=shutil.ignore_patterns("package"))
    image, part = tmp_path / "built/dct__slot0.bit", load_profile(BOARD).part
    most = load_profile(BOARD).slots[0].image_bytes
    if harm == "identities":
        (tmp_path / "built/identities.tcl").unlink()
    elif harm == "cut":
        image.write_bytes(image.read_bytes()[:-4])
    else:
        size = most + 4 if harm == "large" else 64
        other = "xczu7ev-ffvc1156-2-e" if harm == "part" else part
        partial = "" if harm == "full" else "PARTIAL=TRUE;"
        image.write_bytes(header(f"fabric;{partial}Version=none", other, size) + bytes(size))
    with pytest.raises(PackingFailed, match=re.escape(said)):
        pack(read_boards()[BOARD], load_profile(BOARD), tmp_path / "built", tmp_path / "package", None)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package, signed, its key trusted by the folder `keys`."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "eddy.bit").write_bytes(b"fabric")
    (folder / "dct__slot0.bit").write_bytes(b"image")
    generate(tmp_path / "key")
    (tmp_path / "keys").mkdir()
    shutil.copy(tmp_path / "key.pub", tmp_path / "keys")
    seal(folder, {"profile": "tiny", "part": "p", "shell": "s"}, load_key(tmp_path / "key"))
    return folder


def refusal(package: Path, profile: str = "tiny", keys: bool = True, required: bool = True) -> str:
    """Why a package is not taken; "" where it is."""
    trusts = load_trusted_keys(package.parent / "keys") if keys else ()
    try:
        checked(package, profile, trusts, required)
    except EddyError as error:
        return error.message
    return ""


def altered(package: Path, **values: Any) -> None:
    said = json.loads((package / LIST).read_text())
    (package / LIST).write_text(json.dumps({**said, **values}))


def test_a_package_as_it_was_made_is_taken(package: Path) -> None:
    assert refusal(package) == ""
    assert refusal(package, keys=False, required=False) == ""
    seal(package, {"profile": "tiny", "part": "p", "shell": "s"}, None)
    assert refusal(package, required=False) == ""


def test_a_package_that_is_not_as_it_was_made_is_refused(package: Path) -> None:
    assert "is for profile tiny, not kv260" in refusal(package, profile="kv260")
    assert "no trusted key signed" in refusal(package, keys=False)
    (package / "dct__slot0.bit").write_bytes(b"other")
    assert "is damaged" in refusal(package)
    (package / "dct__slot0.bit").unlink()
    assert "is missing" in refusal(package)
    altered(package, shell="other")
    assert "no trusted key signed" in refusal(package)
    assert "no trusted key signed" in refusal(package, required=False), "a signature that is there has to be right"
    altered(package, files={"eddy.bit": "0", "../../etc/passwd": "0"})
    assert "does not list" in refusal(package)
    (package / LIST).unlink()
    assert "no package of bitstreams" in refusal(package)
