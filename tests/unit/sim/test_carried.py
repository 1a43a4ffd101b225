# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sources that come inside a bitstream: the module is built of them, and nothing else is reached by them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from eddy.board.port.profile import load_profile
from eddy.core.errors import EddyError, InvalidRequest
from eddy_sim.boards.loader import find_module
from eddy_sim.design import bitfile, build, carried
from eddy_sim.tools.filelist import read_filelist

MODULE = "level_shift"
MANIFEST = "module: m\nkind: hls\ntop: m\nfiles: m.f\nregister_map: '1.0'\nclk_hz: 1000000\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path / "build"))
    return tmp_path / "build"


def archive(files: dict[str, bytes | str], manifest: str = MANIFEST) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in {"manifest.yaml": manifest, "module.f": "/etc/passwd\n", **files}.items():
            opened.writestr(name, data)
    return out.getvalue()


def identity(module: str, build_hash: str) -> bitfile.Identity:
    return bitfile.Identity(module, build_hash, "0" * 16, 0, "part")


def test_a_bitstream_carries_its_modules_build() -> None:
    packed = carried.pack(MODULE)
    assert packed == carried.pack(MODULE)
    manifest = carried.unpack(packed, MODULE)
    assert carried.module_of(manifest) == MODULE
    assert build.module_build_hash(manifest) == build.module_build_hash(MODULE)
    assert carried.unpack(packed, MODULE) == manifest
    size = load_profile("kv260").slots[0].image_bytes
    _, body = bitfile.split(bitfile.make(identity(MODULE, "0" * 16), size, packed))
    assert bitfile.design_of(body) == packed
    assert bitfile.crc_ok(body)


def test_the_trees_own_build_is_the_trees_and_another_one_the_images() -> None:
    packed, tree = carried.pack(MODULE), build.manifest_path(MODULE)
    of_tree = identity(MODULE, f"{build.module_build_hash(MODULE):016x}")
    assert find_module(of_tree, bitfile.payload(of_tree, 1 << 20, packed)) == tree
    other = identity(MODULE, "1" * 16)
    assert find_module(other, bitfile.payload(other, 1 << 20, packed)) == carried.unpack(packed, MODULE)
    assert find_module(other, bitfile.payload(other, 1 << 20)) == tree
    assert bitfile.design_of(bitfile.payload(other, 4096, packed)) == b"", "it has no room, and is left out"
    unknown = identity("nobodys", "1" * 16)
    with pytest.raises(EddyError, match="no module 'nobodys'"):
        find_module(unknown, bitfile.payload(unknown, 4096))
    with pytest.raises(InvalidRequest, match="not that of the module"):
        find_module(unknown, bitfile.payload(unknown, 1 << 20, packed))


@pytest.mark.parametrize(
    "wrong",
    [
        archive({"../m.sv": ""}),
        archive({"files/../../m.sv": ""}),
        archive({"/m.sv": ""}),
        archive({"files/a b.sv": ""}),
        archive({"files/m.so": ""}),
        archive({"files/a/m.sv": "", "files/b/m.sv": ""}),
        archive({"files/m.sv": b"\0" * (carried.MAX_BYTES + 1)}),
        archive({"files/m.sv": ""}, MANIFEST.replace("top: m", "top: ../m")),
        archive({"files/m.sv": ""}, MANIFEST.replace("top: m", "top: --m")),
        archive({"files/m.sv": ""}, MANIFEST + "parameters: {'A -f /etc/passwd': 1}\n"),
        archive({"files/m.sv": ""}, MANIFEST + "parameters: {A: [1]}\n"),
        archive({"files/m.sv": ""}, MANIFEST.replace("module: m", "module: other")),
        archive({"files/m.sv": ""}, "[1, 2]"),
        archive({"files/m.sv": ""})[:-30],
        b"no archive",
    ],
)
def test_an_archive_that_is_none_of_a_modules_is_refused_and_leaves_nothing(wrong: bytes, folder: Path) -> None:
    with pytest.raises(InvalidRequest):
        carried.unpack(wrong, "m")
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_a_modules_name_leads_out_of_no_folder() -> None:
    for name in ("../m", "/m", "", "."):
        with pytest.raises(InvalidRequest):
            carried.unpack(archive({"files/m.sv": ""}), name)


def test_the_list_is_the_one_that_we_write() -> None:
    manifest = carried.unpack(
        archive({"files/m.sv": "module m; endmodule\n"}, MANIFEST.replace("m.f", "/etc/x.f")), "m"
    )
    assert read_filelist(manifest.parent / "module.f") == [manifest.parent / "files" / "m.sv"]
    assert "/etc" not in manifest.read_text()


def test_sources_that_reach_the_machine_are_not_built(folder: Path) -> None:
    source = 'module m; initial $system("touch owned"); endmodule\n'
    with pytest.raises(InvalidRequest, match="which reaches programs"):
        build.build_module(carried.unpack(archive({"files/m.sv": source}), "m"))
    assert not list(folder.rglob("*.so"))


def test_the_newest_alone_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "KEPT", 2)
    made = []
    for number in range(4):
        made.append(carried.unpack(archive({"files/m.sv": f"module m; endmodule // {number}\n"}), "m"))
        (folder / "sim" / build.module_product(made[-1])).touch()
    assert [path.is_file() for path in made] == [False, False, True, True]
    assert len(list((folder / "sim").glob("*.so"))) == 2
