# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where items of a subgroup meet: a number for each place, in the order of the source's text.

Lanes that cannot all meet go on from the place with the lowest number (library/builtins_subgroup.h), so who is in a
branch goes before who waits behind it. In a loop that would be wrong by itself: who skips a place waits at an earlier
one of the next round, and who leaves by a place of its own would wait there for those of later rounds. So items in a
loop meet once more behind all of its text, in each round. Numbers are of the front end's text, in which blocks lie as
in the source; whatever the optimizer makes of it, a place keeps its number. Functions with places get their first
number as a parameter, and are put into the kernels that call them, so an instruction has one number. The other
parameter says which lanes the subgroup has: the stub finds out, once an item.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from eddy.gpu.programs.ir_function import functions
from eddy.gpu.programs.signature import BARRIER_MARK
from eddy.gpu.work_items.item_parameter import STUB
from eddy.gpu.work_items.rounds import CALL, MEET, with_rounds

PLACE = "eddy_place"
"""What stands for a place's number in the library (builtins_subgroup.h)."""
_LANES = "_ZL10eddy_lanesv"
"""The library's function that says which lanes a subgroup has."""
_NUMBER, _ALL = "%eddy.place", "%eddy.lanes"
"""A function's parameters: its first number, and those lanes. No variable of a source has a dot in its name."""
_DEFINED = re.compile(r"^define [^@\n]*@[\w.$]+\(")
_NAMED = re.compile(r"@([\w.$]+)")
_GROUP = re.compile(r"#(\d+)")
_NOT = re.compile(r"^(attributes #\d+ = \{ .*?)noinline ", re.M)
"""What a source may ask for, and is not kept to here."""
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{ (.*) \}$", re.M)


def with_meetings(ir: str) -> str:
    """A module in which each place where items of a subgroup meet has a number, and each round of a loop has one.

    Functions with places or barriers, other than kernels and stubs, are put in where they are called.

    Args:
        ir: LLVM IR as the front end leaves it.
    """
    texts = functions(ir)
    places, waits = (_coming_to(texts, mark) for mark in (f"@{PLACE}(", BARRIER_MARK))
    once = _meeting_once(texts, places)
    made = {name: with_rounds(texts[name], places, once) for name in places}
    spans: dict[str, int] = {}
    changed = {name: _numbered(name, text, made, spans) for name, text in made.items()}
    always = {number for number, words in _ATTRIBUTES.findall(ir) if "alwaysinline" in words}
    for name in places | waits:
        text = changed.get(name, texts[name])
        ir = ir.replace(texts[name], _same_frames(text) if name.startswith(STUB) else _inlined(text, always), 1)
    return _NOT.sub(r"\1", ir)


def _coming_to(texts: Mapping[str, str], mark: str) -> set[str]:
    """Functions that have a mark, or name one that comes to it."""
    named = {name: set(_NAMED.findall(text)) - {name} for name, text in texts.items()}
    found = {name for name, text in texts.items() if mark in text}
    while more := {name for name, names in named.items() if name not in found and names & found}:
        found |= more
    return found


def _meeting_once(texts: Mapping[str, str], places: Set[str]) -> set[str]:
    """Functions in which items meet once, whichever way they go: where they begin, before any branch."""
    called = {name: [call[3] for call in CALL.finditer(texts[name]) if call[3] in places] for name in places}
    first = {name: texts[name].partition("\n\n")[0] for name in places}
    once = {name for name in places if f"@{PLACE}(" in first[name]}
    while more := {
        name
        for name, names in called.items()
        if name not in once and len(names) == 1 and names[0] in once and f"@{names[0]}(" in first[name]
    }:
        once |= more
    return once


def _span(name: str, made: Mapping[str, str], spans: dict[str, int]) -> int:
    """How many places a function has, with those of what it calls; one that calls itself is refused elsewhere."""
    if name == PLACE:
        return 1
    if name not in spans:
        spans[name] = 1
        found = (_span(call[3], made, spans) for call in CALL.finditer(made[name]) if call[3] in {PLACE, *made})
        spans[name] = sum(found)
    return spans[name]


def _numbered(name: str, text: str, made: Mapping[str, str], spans: dict[str, int]) -> str:
    """A function that hands numbers and lanes on to what it calls, in the order of its text; a stub begins with 1."""
    base, number = ("1" if name.startswith(STUB) else _NUMBER), 0

    def one(call: re.Match[str]) -> str:
        nonlocal number
        if call[3] not in {PLACE, *made}:
            return call[0]
        own = f"{_NUMBER}.{number}"
        line = f"  {own} = add i32 {base}, {number}\n"
        number += _span(call[3], made, spans)
        if call[3] == PLACE:
            return f"{line}{call[1]}add i32 {own}, 0\n"
        lanes = "" if base == _NUMBER else f"  {_ALL} = call i32 @{_LANES}()\n"
        return f"{lanes}{line}{call[1]}{_with(call[2] + call[4], len(call[2]), own)}\n"

    text = CALL.sub(one, text)
    if name == MEET:
        text = re.sub(rf"\bcall i32 @{_LANES}\(\).*", f"add i32 {_ALL}, 0", text)
    defined = _DEFINED.match(text)
    return _with(text, defined.end(), _NUMBER) if defined and base == _NUMBER else text


def _with(text: str, begin: int, number: str) -> str:
    """A text with two more parameters or arguments, the last of the brackets that open before `begin`."""
    depth, at = 1, begin
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return f"{text[: at - 1]}{', ' if text[begin : at - 1].strip() else ''}i32 {number}, i32 {_ALL}{text[at - 1 :]}"


def _same_frames(text: str) -> str:
    """A stub whose frame lies as far from the stack's beginning in each item: others read it (builtins_group.h)."""
    before, bracket, behind = text.partition("\n")[0].rpartition(")")
    return f'{before}{bracket} "no-realign-stack"{behind}{text[len(before + bracket + behind) :]}'


def _inlined(text: str, always: Set[str]) -> str:
    """A function that is put in where it is called, unless it is a kernel or is already."""
    head, line_end, rest = text.partition("\n")
    before, bracket, behind = head.rpartition(")")
    group = _GROUP.search(behind)
    if "spir_kernel" in head or (group and group[1] in always):
        return text
    return f"{before}{bracket} alwaysinline{behind}{line_end}{rest}"
