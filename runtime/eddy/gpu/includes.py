"""Headers of a tenant's own: put where a source includes them, from memory.

The compiler sees one text and no file. So `#include "name"` of a header that came with the source is replaced by that
header between line markers; an include of anything else stays, and the compiler says that there is no such file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.core.errors import InvalidRequest, QuotaExceeded

MAX_FILES = 64
MAX_DEPTH = 32
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/ -]{0,127}\Z")
# Comments and strings come first, so that what only looks like an include in them is left alone.
_TOKEN = re.compile(
    r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*(?:\#|%:)[ \t]*include[ \t]*"
    r"(?:\"(?P<quoted>[^\"\n]+)\"|<(?P<angled>[^>\n]+)>|(?P<named>[A-Za-z_]\w*))",
    re.M | re.S,
)
_ONCE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*pragma[ \t]+once\b[^\n]*", re.M)
_DEFINED = r"^[ \t]*(?:#|%%:)[ \t]*define[ \t]+%s[ \t]+[\"<]([^\">\n]+)[\">]"
_COMMENTS = re.compile(r"//(?:\\\r?\n|[^\n])*|/\*.*?\*/", re.S)
_GUARD = re.compile(r"\s*#\s*(?:ifndef\s+(\w+)|if\s+!\s*defined\s*\(?\s*(\w+)\s*\)?)[ \t]*\n\s*#\s*define\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers that came with a source.

    Args:
        files: Name to text.
        folders: Where else than beside the including file they are looked for.
        most: Bytes of the whole text at most.
        defines: Macros of the options, one of which may name a header.
    """

    files: Mapping[str, str]
    folders: tuple[str, ...] = ()
    most: int = 1 << 20
    defines: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.files) > MAX_FILES:
            message = f"A source may have {MAX_FILES} headers at most, not {len(self.files)}."
            raise InvalidRequest(message, field="includes", allowed=MAX_FILES)
        for name in self.files:
            if not _FILE_NAME.match(name) or posixpath.normpath(name) != name:
                message = f"Header {name[:64]!r} must have a plain relative name of at most 128 characters."
                raise InvalidRequest(message, field=f"includes.{name[:64]}", allowed="letters, digits and _.+-/")

    def expanded(self, source: str, name: str = "kernel.cl") -> str:
        """A source with its headers in it.

        Raises:
            InvalidRequest: Headers include each other without an end.
            QuotaExceeded: The whole text would be too long.
        """
        return _Expansion(self, source).text(source, name, ()) if self.files else source

    def found(self, asked: str, includer: str) -> str | None:
        """The header an include names: beside the file it is in, in one of the folders, or as it is.

        A way out of the folder of the source (`"./../main.h"`, `-I ..`) ends in it: there is nothing above.
        """
        folders = (posixpath.dirname(includer), *self.folders, "")
        candidates = (_inside(posixpath.normpath(posixpath.join(folder, asked))) for folder in folders)
        return next((name for name in candidates if name in self.files), None)


class _Expansion:
    """One source under way."""

    def __init__(self, headers: Headers, source: str) -> None:
        self._headers, self._bytes = headers, 0
        self._texts = (source, *headers.files.values())
        self._numbers = {name: number for number, name in enumerate(headers.files)}

    def text(self, source: str, name: str, outer: tuple[str, ...]) -> str:
        source = source.removeprefix("\ufeff")
        self._bytes += len(source.encode())
        if self._bytes > self._headers.most:
            message = f"The source and its headers have more than {self._headers.most} bytes."
            raise QuotaExceeded(message, limit=self._headers.most, asked=self._bytes)
        parts, done = [], 0
        for match in _TOKEN.finditer(source):
            asked = match["quoted"] or match["angled"] or (self._meant(match["named"]) if match["named"] else "")
            header = self._headers.found(asked, name) if asked else None
            if header is None:
                continue
            line = source.count("\n", 0, match.end()) + 1
            parts += [source[done : match.start()], self._header(header, (*outer, name)), f'\n# {line} "{name}"\n']
            done = match.end()
        return "".join((*parts, source[done:]))

    def _meant(self, macro: str) -> str:
        """The header a macro names (`#include NAME`); "" where it has several values: which counts, conditions say."""
        found = {name for text in self._texts for name in re.findall(_DEFINED % macro, text, re.M)}
        if macro in self._headers.defines:
            found.add(str(self._headers.defines[macro]).strip('"<>'))
        return found.pop() if len(found) == 1 else ""

    def _header(self, name: str, outer: tuple[str, ...]) -> str:
        text = self._headers.files[name]
        once = _ONCE.search(text)
        if name in outer and (once or _guarded(text)):
            return ""
        if len(outer) > MAX_DEPTH:
            message = f"Header {name!r} is included {MAX_DEPTH} levels deep; give it an include guard."
            raise InvalidRequest(message, field=f"includes.{name}", allowed=MAX_DEPTH)
        inner = self.text(text, name, outer)
        if once:
            # The compiler heeds `once` in files of its own only.
            guard = f"EDDY_ONCE_{self._numbers[name]}"
            return f'\n#ifndef {guard}\n#define {guard}\n# 1 "{name}"\n{_ONCE.sub("", inner)}\n#endif'
        return f'\n# 1 "{name}"\n{inner}'


def _inside(path: str) -> str:
    while path.startswith(("/", "../")):
        path = path.removeprefix("/").removeprefix("../")
    return path


def _guarded(text: str) -> bool:
    """Whether a header begins with a guard that makes a second reading empty."""
    found = _GUARD.match(_COMMENTS.sub(" ", text))
    return bool(found and (found[1] or found[2]) == found[3])
