# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The one reader of `.f` lists: which files make a block, lower blocks first.

A list has one entry a line: a source (`.sv`, or `.v`, which is read as Verilog-2005 as synthesizers do), a header that
sources include (`.svh`, `.vh`), a data file that they read with `$readmemh` or `$readmemb` (`.mem`, `.dat`, `.hex` and
others), `+incdir+` and a folder of which every header belongs to the block, or `-f` and another list (`-F` means the
same). Paths are relative to the list that names them. `//` and `#` start a comment. A file that is reached twice is
given once, where it is reached first, so every file comes after all it depends on.

Code that hashes or copies files takes all of them. A tool is called with `tool_arguments`, which names the sources and
the folders in which headers are found. Data files are found by their names alone, without folders, so a list has no two
of one name (`data_files`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError

VERILOG_SUFFIX = ".v"
SOURCE_SUFFIXES = (".sv", VERILOG_SUFFIX)
HEADER_SUFFIXES = (".svh", ".vh")
DATA_SUFFIXES = (".mem", ".dat", ".hex", ".bin", ".rom", ".txt", ".data")
VERILOG = "1364-2005"
"""The standard that `.v` files are read by: words that came later (`bit`, `logic`, `do`) are names in them."""
_INCLUDE = re.compile(r'^[ \t]*`include\s+"([^"]+)"', re.MULTILINE)


class FilelistInvalid(EddyError):
    """A list names something that is not there, includes itself, or holds an option it may not hold."""

    code: ClassVar[str] = "filelist-invalid"


def read_filelist(path: Path) -> list[Path]:
    """The sources, headers and data files a list names, in compilation order, as absolute paths without repeats.

    Raises:
        FilelistInvalid: Names the list, the line and what is wrong with it.
    """
    files = list(dict.fromkeys(_files(path.resolve(), ())))
    data: dict[str, Path] = {}
    for file in data_files(files):
        other = data.setdefault(file.name, file)
        if other != file:
            raise FilelistInvalid(
                f"{path}: {other} and {file} have one name, and data files are found by their names; rename one"
            )
    return files


def source_files(files: Iterable[Path]) -> list[Path]:
    """The files that a tool compiles: all but headers and data."""
    return [file for file in files if file.suffix not in (*HEADER_SUFFIXES, *DATA_SUFFIXES)]


def header_files(files: Iterable[Path]) -> list[Path]:
    """The files that sources include."""
    return [file for file in files if file.suffix in HEADER_SUFFIXES]


def data_files(files: Iterable[Path]) -> list[Path]:
    """The files that memories are filled from."""
    return [file for file in files if file.suffix in DATA_SUFFIXES]


def language_arguments(files: Iterable[Path]) -> tuple[str, ...]:
    """What Verilator is told of the language of files; nothing where all are SystemVerilog."""
    return (f"+{VERILOG}ext+v",) if any(file.suffix == VERILOG_SUFFIX for file in files) else ()


def tool_arguments(files: Iterable[Path]) -> list[str]:
    """What Verilator is told of files: how they are read, where headers are found, then the sources in order."""
    files = list(files)
    folders = include_folders(files)
    return [*language_arguments(files), *(f"-I{folder}" for folder in folders), *map(str, source_files(files))]


def include_folders(files: Sequence[Path]) -> list[Path]:
    """The folders in which headers are found: their own, and those from which a source names them with folders."""
    headers = header_files(files)
    folders = dict.fromkeys(header.parent for header in headers)
    if headers:
        for file in (*source_files(files), *headers):
            folders.update(dict.fromkeys(_roots(file.read_text(encoding="utf-8", errors="replace"), headers)))
    return list(folders)


def _roots(text: str, headers: Sequence[Path]) -> Iterator[Path]:
    """From where headers are named that are named with folders."""
    for name in _INCLUDE.findall(text):
        parts = Path(name).parts
        if len(parts) > 1 and not Path(name).is_absolute():
            yield from (header.parents[len(parts) - 1] for header in headers if header.parts[-len(parts) :] == parts)


def expand_includes(source: str, files: Iterable[Path]) -> str:
    """A source's text with the headers it includes in place, as a compiler reads it.

    Raises:
        FilelistInvalid: It includes a file that is not among `files`.
    """
    headers = {file.name: file for file in header_files(files)}

    def text(match: re.Match[str]) -> str:
        name = Path(match[1]).name
        if name not in headers:
            raise FilelistInvalid(f"a source includes {match[1]}, which its file list does not name")
        return expand_includes(headers[name].read_text(encoding="utf-8"), headers.values())

    return _INCLUDE.sub(text, source)


def with_keywords(path: Path, text: str) -> str:
    """A source's text for a tool that reads everything as SystemVerilog: it says itself which words are keywords."""
    return f'`begin_keywords "{VERILOG}"\n{text}\n`end_keywords\n' if path.suffix == VERILOG_SUFFIX else text


def _files(path: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    if path in above:
        loop = " -> ".join(str(entry) for entry in (*above[above.index(path) :], path))
        raise FilelistInvalid(f"file lists include each other: {loop}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FilelistInvalid(f"cannot read the file list {path}: {error.strerror}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        yield from _entry(path, f"{path}:{number}", line, above)


def _entry(path: Path, where: str, line: str, above: tuple[Path, ...]) -> Iterator[Path]:
    words = _strip_comment(line).split()
    if not words:
        return
    if words[0] in ("-f", "-F") and len(words) == 2:
        included = (path.parent / words[1]).resolve()
        if not included.is_file():
            raise FilelistInvalid(f"{where}: there is no file list {included}")
        yield from _files(included, (*above, path))
    elif words[0].startswith("+incdir+") and len(words) == 1:
        yield from _headers_below((path.parent / words[0].removeprefix("+incdir+")).resolve(), where)
    elif len(words) == 1 and words[0].endswith((*SOURCE_SUFFIXES, *HEADER_SUFFIXES, *DATA_SUFFIXES)):
        file = (path.parent / words[0]).resolve()
        if not file.is_file():
            raise FilelistInvalid(f"{where}: there is no file {file}")
        yield file
    else:
        wanted = (
            f"a source ({', '.join(SOURCE_SUFFIXES)}), a header ({', '.join(HEADER_SUFFIXES)}), a data file"
            f" ({', '.join(DATA_SUFFIXES)}), '+incdir+FOLDER' or '-f LIST'"
        )
        raise FilelistInvalid(f"{where}: {line.strip()!r} is not {wanted}; other options belong to the tool's call")


def _headers_below(folder: Path, where: str) -> list[Path]:
    if not folder.is_dir():
        raise FilelistInvalid(f"{where}: there is no folder {folder}")
    found = header_files(sorted(folder.rglob("*")))
    if not found:
        raise FilelistInvalid(f"{where}: {folder} holds no header ({', '.join(HEADER_SUFFIXES)})")
    return found


def _strip_comment(line: str) -> str:
    for mark in ("//", "#"):
        line = line.split(mark, 1)[0]
    return line
