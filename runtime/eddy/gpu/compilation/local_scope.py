# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`__local` variables declared in an inner block of a kernel, moved to its outermost one.

OpenCL C 1.2 (6.5.2) has them in the outermost scope of a kernel, and clang insists; others do not, and programs
rely on it. Such a variable has no initializer and exists once for a work-group, so where in its kernel it is declared
changes nothing but where its name is known. Where that name stands for something else outside its block, as where two
blocks have one each, the variable gets a name of its own. Lines keep their numbers.
"""

from __future__ import annotations

import re

_MARKER = re.compile(r'#(?:line)? (\d+) "([^"]*)"')
_REFUSED = re.compile(r"^([^:\n]+):(\d+):(\d+): error: variables in the local address space can only be declared", re.M)
_NOT_CODE = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)\b(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
_NAME = re.compile(r"[A-Za-z_]\w*")
_KEYWORD = re.compile(r"\b(?:__local|local)\b")


def hoist_declarations(source: str, message: str) -> str | None:
    """A source with the declarations a message refuses in outer scopes; None where that is not what it refuses.

    Args:
        source: The tenant's.
        message: The compiler's.
    """
    places = [((file, int(line)), int(column)) for file, line, column in _REFUSED.findall(message)]
    if not places or message.count(": error: ") != len(places):
        return None
    starts = _starts(source)
    code = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    cuts: dict[int, tuple[int, int]] = {}
    names: dict[int, str] = {}
    for place, column in places:
        if place not in starts:
            return None
        name = starts[place] + column - 1
        keywords = [at.start() for at in _KEYWORD.finditer(code, 0, name)]
        end = code.find(";", name)
        outer = _outermost(code, name)
        if not keywords or end < 0 or outer is None or ";" in code[keywords[-1] : name]:
            return None
        cuts[keywords[-1]] = (end + 1, outer)
        names.update(_own_names(source, code, name))
    return _rearranged(source, cuts, names)


def _starts(source: str) -> dict[tuple[str, int], int]:
    """Where each line of each file begins, headers having been put in with markers."""
    found, at, file, number = {}, 0, "kernel.cl", 1
    for line in source.splitlines(keepends=True):
        marker = _MARKER.match(line)
        if marker:
            file, number = marker[2], int(marker[1])
        else:
            found[file, number] = at
            number += 1
        at += len(line)
    return found


def _outermost(code: str, at: int) -> int | None:
    """Where the body begins that a place is in: behind its first brace."""
    depth, opened = 0, None
    for brace in re.finditer(r"[{}]", code[:at]):
        if brace[0] == "{":
            opened = brace.end() if depth == 0 else opened
            depth += 1
        else:
            depth -= 1
    return opened if depth > 0 else None


def _own_names(source: str, code: str, at: int) -> dict[int, str]:
    """By place, what a variable is called in its block where its name occurs outside of it, and not in a macro."""
    found = _NAME.match(code, at)
    if not found:
        return {}
    name, end = found[0], _block_end(code, at)
    uses = [use.start() for use in re.finditer(rf"(?<![\w.])(?<!->){name}\b", code)]
    own = [use for use in uses if at <= use < end]
    if own == uses or any(re.search(rf"\b{name}\b", line[0]) for line in _DIRECTIVE.finditer(source)):
        return {}
    return dict.fromkeys(own, f"{name}_{at}")


def _block_end(code: str, at: int) -> int:
    """Where the block ends that a place is in."""
    depth = 0
    for brace in re.finditer(r"[{}]", code[at:]):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return at + brace.start()
    return len(code)


def _renamed(source: str, begin: int, end: int, names: dict[int, str]) -> str:
    """A part of the source with the names that variables have at their places."""
    text = source[begin:end]
    for at in sorted((at for at in names if begin <= at < end), reverse=True):
        text = text[: at - begin] + _NAME.sub(names[at], text[at - begin :], count=1)
    return text


def _rearranged(source: str, cuts: dict[int, tuple[int, int]], names: dict[int, str]) -> str:
    """Each declaration's text put where its body begins, and taken from where it was but for its line ends."""
    pieces = [(begin, end, "\n" * source.count("\n", begin, end)) for begin, (end, _) in cuts.items()]
    for begin, (end, outer) in cuts.items():
        pieces.append((outer, outer, " " + _renamed(source, begin, end, names).replace("\n", " ")))
    cut = [(begin, end) for begin, (end, _) in cuts.items()]
    for at, own in names.items():
        if not any(begin <= at < end for begin, end in cut):
            pieces.append((at, at + len(own.rpartition("_")[0]), own))
    text = source
    for begin, end, put in sorted(pieces, reverse=True):
        text = text[:begin] + put + text[end:]
    return text
