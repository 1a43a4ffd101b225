# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The files of a kernel: which there are in what a tool exported, and what it says of itself beside them."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.units import format_bytes

from eddy_sim.tools.filelist import DATA_SUFFIXES, HEADER_SUFFIXES, SOURCE_SUFFIXES

EXPORTED = ("hdl/verilog", "impl/ip/hdl/verilog", "impl/verilog", "syn/verilog")
"""Where an export of Vitis HLS has its Verilog, from its own folder or a solution's; the first that there is."""
VHDL_SUFFIXES = (".vhd", ".vhdl")
SKIPPED_FOLDERS = {".git", "sim", "tb", "testbench", "tests", "bench", ".autopilot", "cosim", "wrapc", "wrapc_pc"}
"""Folders below the one given whose files are no part of a kernel."""
SKIPPED_NAMES = re.compile(r"(^|_)(tb|testbench|autotb)(_|\.|$)|\.autotb\.|^AESL_", re.IGNORECASE)
ABOUT = ("*_hw.h", "kernel.xml", "component.xml", "*_data.json", "*.tbgen.tcl")
"""What tools write of a kernel's interface, beside its sources."""
PROJECT_SUFFIXES = (".cache", ".gen", ".srcs", ".sim", ".runs", ".hw", ".ip_user_files")
"""Of folders that Vivado makes of a project beside the sources it was given: netlists, stubs and copies."""
MOST_FILES = 5000
POINTER = b"version https://git-lfs.github.com/spec/"
"""How a file begins that only says where Git LFS has its contents."""
ARCHIVES = (".zip", ".xo")
"""What IP and kernels are packed in: both are zip files."""
MOST_ARCHIVE_BYTES = 1 << 28


@dataclass(frozen=True)
class KernelSources:
    """What was found.

    Attributes:
        folder: Where the sources are.
        verilog: Sources, in the order of their names.
        headers: What they may include.
        data: What they may fill memories from.
        vhdl: Sources in VHDL, which nothing here reads.
        about: Files that say something of the kernel's interface; where there are exports of several, of its own alone.
        scripts: Tcl that makes the vendor's IP, `*_ip.tcl`; likewise.
        one_unit: Whether what one source defines holds for those after it.
    """

    folder: Path
    verilog: tuple[Path, ...]
    headers: tuple[Path, ...]
    data: tuple[Path, ...]
    vhdl: tuple[Path, ...]
    about: tuple[Path, ...]
    scripts: tuple[Path, ...]
    one_unit: bool = False


def find_sources(given: Path, top: str = "", holding: Sequence[str] = ()) -> KernelSources:
    """The files of a kernel in a folder, or in the folder of a file.

    Args:
        given: The folder or file; of a project of Vivado, which holds the exports of several, that of its own is taken.
        top: Name of the kernel's top, or "".
        holding: Names of modules; an export counts that has a source called so for each, where there is one.

    Raises:
        NotFound: There is no such folder or file.
        InvalidRequest: It holds no Verilog, or several kernels; says what it holds and what to do.
    """
    if not given.exists():
        raise NotFound(f"there is no {given}", field="source")
    given = _unpacked(given)
    home = given.resolve() if given.is_dir() else given.resolve().parent
    exported = [home / each for each in EXPORTED if (home / each).is_dir()]
    whole = [each for each in exported if all((each / f"{name}.v").is_file() for name in holding)]
    folder = next(iter(whole or exported), None) or _below(home, top) or home
    files = [given.resolve()] if given.is_file() else _files(folder)
    verilog = tuple(file for file in files if file.suffix in SOURCE_SUFFIXES)
    own = _own(home, folder)
    vhdl = tuple(file for file in _files(own) if file.suffix in VHDL_SUFFIXES)
    if not verilog:
        raise InvalidRequest(_no_verilog(given, vhdl), field="source")
    pointers = [path.name for path in verilog if path.read_bytes()[: len(POINTER)] == POINTER]
    if pointers:
        raise InvalidRequest(
            f"{pointers[0]} in {folder} only says where Git LFS has the source ({len(pointers)} such files): git lfs"
            " pull",
            field="source",
        )
    beside = files if given.is_dir() else _files(folder)
    return KernelSources(
        folder,
        verilog,
        tuple(file for file in beside if file.suffix in HEADER_SUFFIXES),
        tuple(file for file in beside if file.suffix in DATA_SUFFIXES) + _data_elsewhere(home, folder),
        vhdl,
        tuple(sorted(path for pattern in ABOUT for path in own.rglob(pattern))),
        tuple(sorted(own.rglob("*_ip.tcl"))),
    )


def _unpacked(given: Path) -> Path:
    """An archive's contents, for as long as the program runs: of the archive itself, or of the one that is all a folder
    holds of a kernel."""
    if given.is_dir():
        found = [path for path in given.rglob("*") if path.suffix in ARCHIVES]
        if len(found) != 1 or any(path.suffix in (*SOURCE_SUFFIXES, *VHDL_SUFFIXES) for path in given.rglob("*")):
            return given
        given = found[0]
    elif given.suffix not in ARCHIVES:
        return given
    folder = Path(tempfile.mkdtemp(prefix="import-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(given) as archive:
            size = sum(each.file_size for each in archive.infolist())
            if size > MOST_ARCHIVE_BYTES:
                raise InvalidRequest(
                    f"{given} holds {format_bytes(size)}; an archive of sources has {format_bytes(MOST_ARCHIVE_BYTES)}"
                    " at most",
                    field="source",
                )
            archive.extractall(folder)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvalidRequest(f"{given} cannot be unpacked: {error}", field="source") from error
    return folder


def _below(home: Path, top: str) -> Path | None:
    """Where the one export is that a folder holds, a few folders down: that of the top, where there are several."""
    found = [
        (len(path.relative_to(home).parts) - each.count("/"), number, str(path))
        for number, each in enumerate(EXPORTED)
        for path in home.glob(f"**/{each}")
        if path.is_dir() and path.resolve().is_relative_to(home)
    ]
    if not found:
        return None
    tops = {place: _export_tops(Path(place)) for _, _, place in found}
    named = [each for each in found if top in tops[each[2]]] if top else [each for each in found if tops[each[2]]]
    held = sorted(set().union(*tops.values()))
    if not named and top and held:
        raise InvalidRequest(f"{home} holds no export of {top}", field="top", allowed=held)
    if len(held) > 1 and not top and {*tops[min(named)[2]]} != {*held}:
        raise InvalidRequest(
            f"{home} holds exports of {len(held)} kernels; say which with --top", field="top", allowed=held
        )
    return Path(min(named or found)[2])


def _own(home: Path, folder: Path) -> Path:
    """Where an export's descriptions are: in its solution, or with the only one in all of what was given."""
    exports = {_solution(path) for each in EXPORTED for path in home.glob(f"**/{each}") if path.is_dir()}
    own = _solution(folder)
    return own if len(exports) > 1 and own.is_relative_to(home) else home


def _solution(folder: Path) -> Path:
    """The solution, or the IP, that an export is of."""
    for each in sorted(EXPORTED, key=len, reverse=True):
        if folder.as_posix().endswith(f"/{each}"):
            return folder.parents[each.count("/")]
    return folder


def _export_tops(folder: Path) -> set[str]:
    """Kernels of which a folder is an export: sources that others' names begin with, beside a decoder or a port."""
    stems = {path.stem for path in folder.glob("*.v")}
    return {
        stem
        for stem in stems
        if any(other.endswith(("_s_axi", "_m_axi")) and other.startswith(f"{stem}_") for other in stems)
        and not any(other != stem and stem.startswith(f"{other}_") for other in stems)
    }


def _data_elsewhere(home: Path, folder: Path) -> tuple[Path, ...]:
    """Data files beside the export: Vivado puts those of a project's blocks where their instances are."""
    if folder == home:
        return ()
    found = (path for suffix in DATA_SUFFIXES for path in home.rglob(f"*{suffix}"))
    return tuple(sorted(path for path in found if path.is_file() and path.resolve().is_relative_to(home)))


def _files(folder: Path) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if _is_skipped(inner[:-1]) or SKIPPED_NAMES.search(path.name) or not path.is_file():
            continue
        if not path.resolve().is_relative_to(folder.resolve()):
            continue  # a link to a file elsewhere is no part of what was given
        found.append(path)
        if len(found) > MOST_FILES:
            raise InvalidRequest(
                f"{folder} holds more than {MOST_FILES} files; name the folder of the kernel's own sources",
                field="source",
            )
    return found


def _is_skipped(folders: tuple[str, ...]) -> bool:
    return any(each in SKIPPED_FOLDERS or each.endswith(PROJECT_SUFFIXES) for each in folders)


def _no_verilog(given: Path, vhdl: tuple[Path, ...]) -> str:
    if vhdl:
        return (
            f"{given} holds VHDL alone ({vhdl[0].name}, {len(vhdl)} files). Export Verilog from HLS (config_rtl or"
            " export_design -rtl verilog), or convert it: ghdl synth --out=verilog FILES... -e TOP > TOP.v"
        )
    return f"{given} holds no Verilog or SystemVerilog (.v, .sv); name the folder of an export, or of the sources"
