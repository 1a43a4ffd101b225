"""The one reader of `.f` lists: which SystemVerilog files make a block, lower blocks first.

A list has one entry a line: a source, a header that sources include, or `-f` and another list (`-F` means the same).
Paths are relative to the list that names them. `//` and `#` start a comment. A file that is reached twice is given
once, where it is reached first, so every file comes after all it depends on.

Code that hashes or copies files takes all of them. A tool is called with `tool_arguments`, which names the sources and
the folders in which headers are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError

SOURCE_SUFFIXES = (".sv", ".v")
HEADER_SUFFIX = ".svh"
HARDWARE = Path(__file__).resolve().parents[2] / "hw"
"""Our own sources, in a clone."""


class FilelistInvalid(EddyError):
    """A list names something that is not there, includes itself, or holds an option it may not hold."""

    code: ClassVar[str] = "filelist-invalid"


def read_filelist(path: Path) -> list[Path]:
    """The sources and headers a list names, in compilation order, as absolute paths without repeats.

    Raises:
        FilelistInvalid: Names the list, the line and what is wrong with it.
    """
    return list(dict.fromkeys(_sources(path.resolve(), ())))


def sources_of(files: Iterable[Path]) -> list[Path]:
    """The files that a tool compiles: all but the headers."""
    return [file for file in files if file.suffix != HEADER_SUFFIX]


def tool_arguments(files: Iterable[Path]) -> list[str]:
    """What Verilator is told of files: where headers are found, then the sources in order."""
    files = list(files)
    folders = dict.fromkeys(file.parent for file in files if file.suffix == HEADER_SUFFIX)
    return [*(f"-I{folder}" for folder in folders), *map(str, sources_of(files))]


def expanded(source: str, files: Iterable[Path]) -> str:
    """A source's text with the headers it includes in place, as a compiler reads it.

    Raises:
        FilelistInvalid: It includes a file that is not among `files`.
    """
    headers = {file.name: file for file in files if file.suffix == HEADER_SUFFIX}

    def text(match: re.Match[str]) -> str:
        if match[1] not in headers:
            raise FilelistInvalid(f"a source includes {match[1]}, which its file list does not name")
        return expanded(headers[match[1]].read_text(encoding="utf-8"), headers.values())

    return re.sub(r'^[ \t]*`include\s+"([^"]+)"', text, source, flags=re.MULTILINE)


def _sources(path: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    if path in above:
        loop = " -> ".join(str(entry) for entry in (*above[above.index(path) :], path))
        raise FilelistInvalid(f"file lists include each other: {loop}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        if not HARDWARE.is_dir():
            raise FilelistInvalid(f"simulated RTL needs a clone of Eddy: a wheel has no {HARDWARE.name}/") from error
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
        yield from _sources(included, (*above, path))
        return
    if len(words) != 1 or not words[0].endswith((*SOURCE_SUFFIXES, HEADER_SUFFIX)):
        wanted = "a source (.sv, .v), a header (.svh) or '-f LIST'"
        raise FilelistInvalid(f"{where}: {line.strip()!r} is not {wanted}; other options belong to the tool's call")
    source = (path.parent / words[0]).resolve()
    if not source.is_file():
        raise FilelistInvalid(f"{where}: there is no source {source}")
    yield source


def _strip_comment(line: str) -> str:
    for mark in ("//", "#"):
        line = line.split(mark, 1)[0]
    return line
