# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Functions in which items of a subgroup meet, put into the kernels that call them.

Lanes that cannot meet go on in the order of the addresses at which they wait (library/builtins_subgroup.h), and blocks
lie in that order within a function alone (`eddy.gpu.work_items.block_order`).
"""

from __future__ import annotations

import re

from eddy.gpu.programs.signature import BARRIER_MARK, SUBGROUP_MARK

_FUNCTION = re.compile(r"^(define [^@\n]*@(\w+)\([^\n]*?\) )((?:[^\n]*?)\{\n.*?^\}$)", re.M | re.S)
_NAMED = re.compile(r"@([\w.$]+)")
_GROUP = re.compile(r"#(\d+)")
_NOT = re.compile(r"^(attributes #\d+ = \{ .*?)noinline ", re.M)
"""What a source may ask for, and is not kept to here."""
_ATTRIBUTES = re.compile(r"^attributes #(\d+) = \{ (.*) \}$", re.M)


def with_meetings_inlined(ir: str) -> str:
    """A module whose functions with meetings or barriers, other than kernels and stubs, are put in where they
    are called.

    Args:
        ir: LLVM IR as the front end leaves it.
    """
    texts = {found[2]: found[0] for found in _FUNCTION.finditer(ir)}
    named = {name: set(_NAMED.findall(text)) for name, text in texts.items()}
    meets = {name for name, text in texts.items() if SUBGROUP_MARK in text or BARRIER_MARK in text}
    while more := {name for name, names in named.items() if name not in meets and names & meets}:
        meets |= more
    always = {number for number, words in _ATTRIBUTES.findall(ir) if "alwaysinline" in words}

    def one(found: re.Match[str]) -> str:
        head, name, rest = found.groups()
        group = _GROUP.search(rest.partition("\n")[0])
        if (
            name not in meets
            or "spir_kernel" in head
            or name.startswith("eddy_call_")
            or (group and group[1] in always)
        ):
            return found[0]
        return f"{head}alwaysinline {rest}"

    return _NOT.sub(r"\1", _FUNCTION.sub(one, ir))
