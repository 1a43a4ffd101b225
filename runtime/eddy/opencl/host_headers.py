# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Headers from the host's disk: what a source includes from the folders of `-I`, from the host's own folder, and by
absolute paths goes along with it, as the server has neither. The helper reads as the host's user, who could as well."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\w+))', re.M)
_ABSOLUTE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*["<])/+(?=[^">\n]+[">])', re.M)
_TEXT = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)
MOST_HEADERS, MOST_BYTES = 256, 8 << 20
"""What a source may have with it; the server's limits."""


def relative(source: str) -> str:
    """A source that includes by absolute paths, with paths from the root instead: names that a header may have."""
    return _ABSOLUTE.sub(r"\1", source)


def with_headers(source: str, options: str, given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Options without folders of this machine, and all headers by their names.

    Args:
        source: OpenCL C; paths that were absolute begin at the root (`relative`).
        options: As `clBuildProgram` takes them.
        given: Headers that came along already; they come before files.
    """
    words, folders = _split_folders(shlex.split(options))
    found = dict(given)
    macros = {name: one or other for name, one, other in _TEXT.findall(source)} | _macros(words)
    waiting = [("", name) for name in _names(source, macros)]
    size = 0
    while waiting and len(found) < MOST_HEADERS and size < MOST_BYTES:
        folder, name = waiting.pop()
        for key, path in _candidates(folder, name, folders):
            if key in found:
                break
            text = _read(path)
            if text is not None:
                text = found[key] = relative(text)
                size += len(text)
                macros |= {each: one or other for each, one, other in _TEXT.findall(text)}
                waiting += [(posixpath.dirname(key), each) for each in _names(text, macros)]
                break
    return shlex.join(words), found


def _split_folders(words: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Words of options that are no folders, and the folders, the host's own and the root last."""
    rest, folders, expects = [], [], False
    for word in words:
        if expects or word.startswith("-I"):
            folder = word if expects else word[2:]
            expects = not folder
            folders += [Path(folder)] if folder else []
        else:
            rest.append(word)
    return rest, [*folders, Path(), Path("/")]


def _names(text: str, macros: Mapping[str, str]) -> Iterator[str]:
    for quoted, angled, macro in _INCLUDE.findall(text):
        name = quoted or angled or macros.get(macro, "")
        if name:
            yield name


def _macros(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for at, word in enumerate(words):
        asked = words[at + 1] if word == "-D" and at + 1 < len(words) else word[2:] if word.startswith("-D") else ""
        name, _, text = asked.partition("=")
        if text[:1] + text[-1:] in ('""', "<>"):
            found[name] = text[1:-1]
    return found


def _candidates(folder: str, name: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Names by which the compiler may find a header, each with where it may be on the disk."""
    near = posixpath.normpath(posixpath.join(folder, name))
    for each in folders:
        if folder:
            yield _inside(near), each / near
    for each in folders:
        yield _inside(posixpath.normpath(name)), each / name


def _inside(name: str) -> str:
    """A name as the compiler has it: a way out of the source's folder ends in it."""
    while name.startswith("../"):
        name = name.removeprefix("../")
    return name


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except OSError:
        return None
