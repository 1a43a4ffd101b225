# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The sources that a simulated bitstream carries of its module: what frames are to a board's fabric. A board whose tree
has no such module builds its model of them.

They are a zip archive: the manifest, the file list, and the files by their places below a folder that they have in
common. What is taken out of an archive may be anybody's: names lead out of no folder, sizes are bounded, and the list
is the one that we write.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from eddy.core.errors import InvalidRequest
from eddy.core.slots import MEMORY_BITS
from eddy.packages.fields import load_yaml, mapping

from eddy_sim.design.build import manifest_path, module_product
from eddy_sim.tools.filelist import DATA_SUFFIXES, HEADER_SUFFIXES, SOURCE_SUFFIXES, read_filelist
from eddy_sim.tools.products import build_folder, carried_folder

MAX_BYTES, MAX_FILES = 32 << 20, 2000
"""Most that sources may be, taken out."""
KEPT = 32
"""Modules of which sources and model are kept; of more, those that came first go."""
_MANIFEST, _LIST = "manifest.yaml", "module.f"
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")
_STAMP = (1980, 1, 1, 0, 0, 0)
_TOP = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_PARAMETER = re.compile(r"[A-Za-z_]\w*=[\w'.\" -]*", re.ASCII)
_PLACE = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.ASCII)


def pack(module: str) -> bytes:
    """The sources of a module of the source tree; b"" where two files have one name, so that a place would count, or
    one has a name that no list can have.

    Raises:
        NotFound: There is no such module.
    """
    path = manifest_path(module)
    manifest = load_yaml(path.read_text(encoding="utf-8"))
    files = read_filelist(path.parent / manifest["files"])
    common = Path(os.path.commonpath([file.parent for file in files]))
    places = {file.relative_to(common).as_posix(): file for file in files}
    if len({file.name for file in files}) < len(files) or not all(map(_PLACE.fullmatch, places)):
        return b""
    texts = {_MANIFEST: _manifest_text(manifest), _LIST: "".join(f"files/{place}\n" for place in places).encode()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (*texts.items(), *((f"files/{place}", file.read_bytes()) for place, file in places.items())):
            archive.writestr(zipfile.ZipInfo(name, _STAMP), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def unpack(archive: bytes, module: str) -> Path:
    """Take sources out of an archive, once; answers the module's manifest, in a folder of its own.

    Args:
        archive: As `pack` made it, or somebody.
        module: What it is said to hold.

    Raises:
        InvalidRequest: It is no such archive, is one of another module, or is too large.
    """
    if not _MODULE.fullmatch(module):  # it comes from inside a bitstream
        raise InvalidRequest(f"no module is called {module!r:.80}", field="module")
    folder = carried_folder() / f"{module}-{hashlib.sha256(archive).hexdigest()[:32]}"
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".new", dir=folder.parent))
        try:
            _take_out(archive, module, work)
            with contextlib.suppress(FileExistsError):  # or somebody else was sooner
                work.rename(folder)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, yaml.YAMLError, RuntimeError) as error:
            raise InvalidRequest(f"the sources in the bitstream cannot be read ({error})", field="file") from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
        _drop_oldest(folder)
    return manifest


def module_of(manifest: Path) -> str:
    """The name of the module that a manifest is of."""
    return manifest.parent.name.rpartition("-")[0]


def _take_out(archive: bytes, module: str, work: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        places = [info.filename for info in opened.infolist()[2:]]
        known = (*SOURCE_SUFFIXES, *HEADER_SUFFIXES, *DATA_SUFFIXES)
        sound = all(_PLACE.fullmatch(each) and each.startswith("files/") and each.endswith(known) for each in places)
        names = {PurePosixPath(each).name for each in places}
        if not sound or len(names) < len(places) or len(places) > MAX_FILES:
            raise ValueError("its files are not those of a module")
        manifest = mapping(load_yaml(_read(opened, _MANIFEST, MAX_BYTES).decode()), "manifest")
        _check_manifest(manifest, module)
        left = MAX_BYTES
        for place in places:
            data = _read(opened, place, left)
            left -= len(data)
            (work / place).parent.mkdir(parents=True, exist_ok=True)
            (work / place).write_bytes(data)
    (work / _LIST).write_text("".join(f"{place}\n" for place in places), encoding="utf-8")
    (work / _MANIFEST).write_bytes(_manifest_text(manifest))


def _check_manifest(manifest: Mapping[str, Any], module: str) -> None:
    """Refuse what would reach tools as something else than a name or a number."""
    parameters = mapping(manifest.get("parameters", {}), "parameters")
    plain = all(isinstance(value, str | int | float) for value in parameters.values())
    top = manifest.get("top")
    named = isinstance(top, str) and _TOP.fullmatch(top) and manifest.get("module") == module
    if not named or not plain or not all(_PARAMETER.fullmatch(f"{name}={parameters[name]}") for name in parameters):
        raise ValueError("its manifest is not that of the module")


def _read(opened: zipfile.ZipFile, name: str, most: int) -> bytes:
    with opened.open(name) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"they are more than {MAX_BYTES >> 20} MiB")
    return data


def _manifest_text(manifest: Mapping[str, object]) -> bytes:
    return yaml.safe_dump({**manifest, "files": _LIST}, sort_keys=False).encode()


def _drop_oldest(fresh: Path) -> None:
    """Keep the newest modules alone; what runs goes on."""
    there = sorted(fresh.parent.glob(f"[!.]*/{_MANIFEST}"), key=lambda path: path.stat().st_mtime_ns)
    for manifest in there[:-KEPT]:
        if manifest.parent != fresh:
            for memory_bits in MEMORY_BITS:
                (build_folder() / module_product(manifest, memory_bits)).unlink(missing_ok=True)
            shutil.rmtree(manifest.parent, ignore_errors=True)
