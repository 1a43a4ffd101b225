# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The loop of a stub that does all of a lane's items, as OpenCL C (`eddy.gpu.programs.walk`).

The inner loop goes along a line; all but one id stay the same in it, so what follows from them leaves it. Global ids
are in `eddy_first_id`. A stub knows walks along the first dimension and across it; that of a very long kernel the
second kind alone.
"""

from __future__ import annotations

AS_IT_IS = '_Pragma("clang loop unroll(disable)")'
"""Said of the loops: several kernels in one round are longer than the cores' branches cost."""
_TO = "(eddy_lines ? EDDY_NOW(gp, WALK_END) : EDDY_NOW(tp, CTX_WALK_LAST))"
"""Where the lane's line ends. What is wanted between lines alone is read then, so that it takes no registers."""
_BEGIN = (
    "unsigned int eddy_lines = EDDY_LANE(WALK_LINES); "
    "const unsigned int eddy_step = EDDY_WORD(WALK_STEP); "
    f"unsigned int eddy_to = {_TO}; " + "".join(f"eddy_first_id[{k}] = EDDY_LANE(START_{k}); " for k in range(3))
)
_END = '__asm__ volatile("tail eddy_finish");'
_ID = "eddy_first_id"


def walk(call: str, ids: int, one_way: bool) -> str:
    """The loops of a kernel.

    Args:
        call: Calls it for one item.
        ids: How many of its global ids it asks for.
        one_way: Whether it is too long for the stub to have it twice.
    """
    across = _across(call, ids) if ids > 1 else ""
    along = _along(call, ids)
    if ids > 1 and not one_way:
        return f"{_BEGIN} if (EDDY_WORD(WALK_AXIS)) {{ {across} }} else {{ {along} }} {_END}"
    return f"{_BEGIN} {across or along} {_END}"


def _along(call: str, ids: int) -> str:
    """Along the first dimension; lines of a kernel that asks for no other id are not filled up."""
    at = f"{_ID}[0]"
    on, back = f"{at} += eddy_step;", f"{at} -= EDDY_NOW(gp, WALK_LENGTH);"
    if ids < 2:
        leave = f"if (!eddy_lines) goto eddy_done; eddy_lines--; {back} eddy_to = {_TO};"
        return (
            f"for (;;) {{ {AS_IT_IS} do {{ {call} {on} }} while ({at} < eddy_to); "
            f"{AS_IT_IS} do {{ {leave} }} while ({at} >= eddy_to); }} eddy_done: ;"
        )
    down = (
        f"{_ID}[1] += EDDY_NOW(gp, WALK_SIDE); "
        f"if ({_ID}[1] >= EDDY_NOW(gp, WALK_WIDTH_END)) {{ {_ID}[1] -= EDDY_NOW(gp, WALK_WIDTH); {_ID}[2]++; }}"
    )
    return _lines(_line(call, on, at), f"{_past(on, at)} {back} {down}")


def _across(call: str, ids: int) -> str:
    """Along the second dimension or, where the kernel asks for it, the third."""
    at, begin, back = f"{_ID}[1]", "", f"{_ID}[1] -= EDDY_NOW(gp, WALK_LENGTH);"
    on, deeper = f"{_ID}[1] += eddy_step;", f"{_ID}[2]++;"
    if ids > 2:
        at, back = "eddy_along", "eddy_along -= EDDY_NOW(gp, WALK_LENGTH);"
        begin = f"unsigned int eddy_along = EDDY_WORD(WALK_AXIS) == 1 ? {_ID}[1] : {_ID}[2];"
        on, deeper = "eddy_along += eddy_step;", ""
        for k in (1, 2):
            begin += f" const unsigned int eddy_step_{k} = EDDY_WORD(WALK_STEP_{k});"
            on += f" {_ID}[{k}] += eddy_step_{k};"
            back += f" {_ID}[{k}] -= EDDY_NOW(gp, WALK_BACK_{k});"
            deeper += f" {_ID}[{k}] += EDDY_NOW(gp, WALK_DEEP_{k});"
    idle = _line(f'__asm__ volatile("" : "+r"({at}));', on, at)
    line = f"if ({_ID}[0] < EDDY_NOW(gp, WALK_INSIDE_END)) {{ {_line(call, on, at)} }} else {{ {idle} }}"
    beside = (
        f"{_ID}[0] += EDDY_NOW(gp, WALK_SIDE); "
        f"if ({_ID}[0] >= EDDY_NOW(gp, WALK_WIDTH_END)) {{ {_ID}[0] -= EDDY_NOW(gp, WALK_WIDTH); {deeper} }}"
    )
    return f"{begin} {_lines(line, f'{_past(on, at)} {back} {beside}')}"


def _line(call: str, on: str, at: str) -> str:
    """All items of a line, which may be none."""
    return f"if ({at} < eddy_to) {AS_IT_IS} do {{ {call} {on} }} while ({at} < eddy_to);"


def _past(on: str, at: str) -> str:
    """Past what fills up a line so that no warp is in two of them."""
    return f"if ({at} < EDDY_NOW(gp, WALK_LENGTH_END)) {{ {on} }}"


def _lines(line: str, on: str) -> str:
    """Line by line, until the last has been done.

    Args:
        line: Does a line.
        on: Leads to the next line.
    """
    return f"{AS_IT_IS} for (;;) {{ {line} if (!eddy_lines) break; eddy_lines--; {on} eddy_to = {_TO}; }}"
