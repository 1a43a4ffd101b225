# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers that printf gets in another width than its format says, brought to that width.

`size_t` has 32 bits here and 64 where most programs were written: `printf("%lu", get_global_id(0))` is common. The
device reads arguments by the format, so one of a wrong width would shift all that follow. Where a format is a constant
the module has in clang's own text, each integer is extended or cut to what its conversion reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eddy.gpu.programs.log_format import conversions

_TEXT = re.compile(r'^(@[\w.$]+) = [^\n]*\bconstant \[\d+ x i8\] c"((?:[^"\\]|\\[0-9A-F]{2})*)"', re.M)
_ESCAPE = re.compile(rb"\\([0-9A-F]{2})")
_CALL = re.compile(r"^(\s+(?:%[\w.$-]+ = )?(?:tail )?call [^@\n]*@(?:printf|eddy_printf64)\()(.*)(\)[^)\n]*)$", re.M)
_INTEGER = re.compile(r"i(32|64)( (?:noundef|signext|zeroext))* (%[\w.$-]+|-?\d+)\Z")


def fit_printf_arguments(ir: str) -> str:
    """A module whose integer arguments of printf have the widths that the formats say.

    Args:
        ir: LLVM IR as the front end leaves it.
    """
    if "printf" not in ir:
        return ir
    formats = {name: _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), text.encode()) for name, text in _TEXT.findall(ir)}
    number = iter(range(len(ir)))

    def one(call: re.Match[str]) -> str:
        first, *rest = _arguments(call[2])
        before = []
        wanted = _widths(formats.get(first.rsplit(" ", 1)[-1], b"").partition(b"\0")[0])
        for k, (argument, (bits, signed)) in enumerate(zip(rest, wanted, strict=False)):
            found = _INTEGER.match(argument)
            if not found or not bits or int(found[1]) == bits:
                continue
            name = f"%eddy.printed.{next(number)}"
            how = "trunc" if bits < int(found[1]) else "sext" if signed else "zext"
            before.append(f"  {name} = {how} i{found[1]} {found[3]} to i{bits}\n")
            rest[k] = f"i{bits} noundef {name}"
        return f"{''.join(before)}{call[1]}{', '.join([first, *rest])}{call[3]}"

    return _CALL.sub(one, ir)


def _widths(template: bytes) -> Iterator[tuple[int, bool]]:
    """Bits of each argument, 0 for what is no integer, and whether it has a sign."""
    for kind, length, vector in conversions(template):
        whole = kind in "diouxXc" and not vector
        yield (64 if length in ("l", "ll") and kind != "c" else 32) if whole else 0, kind in "di"


def _arguments(text: str) -> list[str]:
    """What stands between commas, outside of brackets."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and not depth:
            found.append(text[begin:at].strip())
            begin = at + 1
    return [*found, text[begin:].strip()]
