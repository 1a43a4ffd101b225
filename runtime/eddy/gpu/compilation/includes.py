# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Headers of a tenant's own: put where a source includes them, from memory.

The compiler sees one text and no file. So `#include "name"` of a header that came with the source is replaced by that
header between line markers; an include of anything else stays, and the compiler says that there is no such file.

Which header a macro names (`#include HEADER`, `#include TEXT(FOLDER/name.h)`) the preprocessor alone can tell, by the
conditions and definitions before it. So such a source passes the preprocessor first, with a mark where each of these
includes is; the headers found are put in place, and it passes again, until the marks name what is there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.units import format_bytes

MAX_FILES = 256
MAX_HEADER_BYTES = 8 << 20
"""Of all headers together, each once. In place, where a header may be several times, `Headers.most` is the bound."""
MAX_DEPTH = 32
MAX_ROUNDS = 8
"""How often a source passes the preprocessor: headers that macros name may depend on each other so deep."""
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/ -]{0,127}\Z")
_SPACE = r"(?:[ \t]|\\\r?\n|/\*.*?\*/)*"
# Comments and strings come first, so that what only looks like an include in them is left alone.
_TOKEN = re.compile(
    r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    rf"|^[ \t]*(?:\#|%:){_SPACE}include{_SPACE}"
    r"(?:\"(?P<quoted>[^\"\n]+)\"|<(?P<angled>[^>\n]+)>|(?P<computed>[A-Za-z_](?:/\*.*?\*/|\\\r?\n|[^\n])*))",
    re.M | re.S,
)
_MARK = re.compile(r"^[ \t]*eddy_include_(\d+)[ \t]+(?:\"([^\"\n]+)\"|<([^>\n]+)>)[ \t]*$", re.M)
"""What the preprocessor leaves of a mark whose macro is the name of a header."""
Place = tuple[tuple[str, int], ...]
"""Where an include is: in which file at which character, and before that where that file was included."""
_SOURCE = ""
"""The source among the files; no header is called so."""
_ONCE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*pragma[ \t]+once\b[^\n]*", re.M)
_COMMENTS = re.compile(r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/", re.S)
_GUARD = re.compile(r"\s*#\s*(?:ifndef\s+(\w+)|if\s+!\s*defined\s*\(?\s*(\w+)\s*\)?)[ \t]*\n\s*#\s*define\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that came with a source.

    Args:
        files: Name to text.
        folders: Where else than beside the including file they are looked for.
        most: Bytes of the whole text at most.
    """

    files: Mapping[str, str]
    folders: tuple[str, ...] = ()
    most: int = 8 << 20

    def __post_init__(self) -> None:
        if len(self.files) > MAX_FILES:
            message = f"A source may have {MAX_FILES} headers at most, not {len(self.files)}."
            raise InvalidRequest(message, field="includes", allowed=MAX_FILES)
        size = sum(len(text.encode()) for text in self.files.values())
        if size > MAX_HEADER_BYTES:
            message = (
                f"The headers have more than {format_bytes(MAX_HEADER_BYTES)}; leave out those that are not included."
            )
            raise QuotaExceeded(message, limit=MAX_HEADER_BYTES, asked=size)
        for name in self.files:
            if not _FILE_NAME.match(name) or posixpath.normpath(name) != name:
                message = f"Header {name[:64]!r} must have a plain relative name of at most 128 characters."
                raise InvalidRequest(message, field=f"includes.{name[:64]}", allowed="letters, digits and _.+-/")

    def expand_includes(self, source: str, preprocess: Callable[[str], str] | None = None) -> str:
        """A source with its headers in it.

        Args:
            source: It.
            preprocess: Gives what the preprocessor makes of a text; None where macros are to name no headers.

        Raises:
            InvalidRequest: Headers include each other without an end, or depend on each other too deep.
            QuotaExceeded: The whole text would be too long.
        """
        if not self.files:
            return source
        files = {name: _File.read(text) for name, text in (*self.files.items(), (_SOURCE, source))}
        plain = _Expansion(self, files)
        text = plain.text()
        if preprocess is None or not plain.computed:
            return text
        chosen: dict[Place, str] = {}
        for _ in range(MAX_ROUNDS):
            marked = _Expansion(self, files, chosen, marks=True)
            told = _MARK.findall(preprocess(marked.text()))
            named = ((marked.computed[int(number)], quoted or angled) for number, quoted, angled in told)
            found = {place: self.find_header(asked, place[-1][0]) for place, asked in named}
            known = {place: name for place, name in found.items() if name}
            if known == chosen:
                return _Expansion(self, files, chosen).text()
            chosen = known
        message = (
            f"Headers that macros name depend on each other more than {MAX_ROUNDS} levels deep; name them as text."
        )
        raise InvalidRequest(message, field="includes", allowed=MAX_ROUNDS)

    def find_header(self, asked: str, includer: str) -> str | None:
        """The header an include names: beside the file it is in, in one of the folders, or as it is.

        A way out of the folder of the source (`"./../main.h"`, `-I ..`) ends in it: there is nothing above.
        """
        folders = (posixpath.dirname(includer), *self.folders, "")
        candidates = (_inside(posixpath.normpath(posixpath.join(folder, asked))) for folder in folders)
        return next((name for name in candidates if name in self.files), None)


@dataclass(frozen=True, slots=True)
class _Include:
    """An include of a file: where it begins and ends, the line behind it, and what it names as text or by a macro."""

    begin: int
    end: int
    line: int
    asked: str
    computed: str


@dataclass(frozen=True, slots=True)
class _File:
    """A file, read once however often it is included.

    Attributes:
        text: Without a mark of byte order, and without `#pragma once`.
        bytes: Its size.
        includes: In order.
        once: Whether it has `#pragma once`.
        guarded: Whether a second reading of it is empty.
    """

    text: str
    bytes: int
    includes: tuple[_Include, ...]
    once: bool
    guarded: bool

    @classmethod
    def read(cls, text: str) -> _File:
        """A file of a text. The compiler heeds `once` in files of its own only."""
        plain = text.removeprefix("\ufeff")
        bare = _ONCE.sub("", plain)
        found, line, at = [], 1, 0
        for match in _TOKEN.finditer(bare):
            asked, computed = match["quoted"] or match["angled"] or "", match["computed"] or ""
            if asked or computed:
                line, at = line + bare.count("\n", at, match.end()), match.end()
                found.append(_Include(match.start(), match.end(), line, asked, computed))
        return cls(bare, len(bare.encode()), tuple(found), bare != plain, _guarded(plain))


class _Expansion:
    """One way of putting headers in place.

    Args:
        headers: All there are.
        files: They and the source, read.
        chosen: Those that macros name, by place.
        marks: Whether such an include has a mark before it, for the preprocessor to say what it names.

    Attributes:
        computed: Places of the includes by macros that were met; a mark has its number in this list.
    """

    def __init__(
        self,
        headers: Headers,
        files: Mapping[str, _File],
        chosen: Mapping[Place, str] = MappingProxyType({}),
        marks: bool = False,
    ) -> None:
        self._headers, self._files, self._chosen, self._marks = headers, files, chosen, marks
        self._numbers = {name: number for number, name in enumerate(headers.files)}
        self._bytes = 0
        self.computed: list[Place] = []

    def text(self) -> str:
        """The source with its headers in it."""
        return self._file(_SOURCE, (), ())

    def _file(self, name: str, outer: tuple[str, ...], within: Place) -> str:
        """A file with its headers in it; `outer` are the files it is included by, `within` where."""
        file = self._files[name]
        self._count(file.bytes)
        parts, done = [], 0
        for include in file.includes:
            place, mark = (*within, (name, include.begin)), ""
            header = self._headers.find_header(include.asked, name) if include.asked else self._chosen.get(place)
            if include.computed:
                mark = f"\neddy_include_{len(self.computed)} {include.computed}\n" if self._marks else ""
                self.computed.append(place)
            if header is None and not mark:
                continue
            included = self._header(header, (*outer, name), place) if header else ""
            behind = f'\n# {include.line} "{name or "kernel.cl"}"\n'
            self._count(len(mark) + len(behind))
            parts += [file.text[done : include.begin], mark, included, behind]
            done = include.end
        return "".join((*parts, file.text[done:]))

    def _count(self, more: int) -> None:
        self._bytes += more
        if self._bytes > self._headers.most:
            message = f"The source and its headers have more than {format_bytes(self._headers.most)}."
            raise QuotaExceeded(message, limit=self._headers.most, asked=self._bytes)

    def _header(self, name: str, outer: tuple[str, ...], place: Place) -> str:
        file = self._files[name]
        if name in outer and (file.once or file.guarded):
            return ""
        if len(outer) > MAX_DEPTH:
            message = f"Header {name!r} is included {MAX_DEPTH} levels deep; give it an include guard."
            raise InvalidRequest(message, field=f"includes.{name}", allowed=MAX_DEPTH)
        inner = f'\n# 1 "{name}"\n{self._file(name, outer, place)}'
        if not file.once:
            return inner
        guard = f"EDDY_ONCE_{self._numbers[name]}"
        return f"\n#ifndef {guard}\n#define {guard}{inner}\n#endif"


def _inside(path: str) -> str:
    while path.startswith(("/", "../")):
        path = path.removeprefix("/").removeprefix("../")
    return path


def _guarded(text: str) -> bool:
    """Whether a header begins with a guard that makes a second reading empty."""
    found = _GUARD.match(_COMMENTS.sub(" ", text))
    return bool(found and (found[1] or found[2]) == found[3])
