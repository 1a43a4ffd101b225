"""Barriers, and the switch between work-items of a lane: written for each program, with the registers it uses."""

from __future__ import annotations

import re

from eddy.gpu.layout import BLOCK, CONTEXT, FIBER, ROW_BYTES

SWITCH = "eddy_switch"
"""What `barrier` calls where a lane has several work-items."""
_IN_CONTEXT = {name: ROW_BYTES * k for k, name in enumerate(CONTEXT)}
_IN_BLOCK = {name: 4 * k for k, name in enumerate(BLOCK)}
_BARRIER = re.compile(r"^\t(call|tail)\teddy_barrier$", re.M)
_REGISTER = re.compile(r"\b(?:fs(1[01]|[0-9])|s(1[01]|[0-9])|fp|x(8|9|1[89]|2[0-7])|f(8|9|1[89]|2[0-7]))\b")


def kept_registers(assembly: str) -> tuple[str, ...]:
    """Registers a program may have values in across a call, by the names the assembler has for them."""
    found: set[tuple[bool, int]] = set()
    for floating, whole, number, floating_number in set(_REGISTER.findall(assembly)):
        if floating or floating_number:
            found.add((True, int(floating) if floating else _saved(int(floating_number))))
        else:
            found.add((False, int(whole) if whole else _saved(int(number)) if number else 0))
    return tuple(f"{'fs' if floating else 's'}{number}" for floating, number in sorted(found))


def _saved(number: int) -> int:
    """s-number of a register from its own."""
    return number - 8 if number < 10 else number - 16


def with_barriers(assembly: str, early: bool) -> str:
    """Assembly with what `barrier` does in place of its calls.

    Args:
        assembly: The compiler's.
        early: Whether work-items may return before a barrier; then who comes to one counts its round (library/start.S).
    """
    number = iter(range(len(assembly)))
    count = f"""\tlw\tt2, {_IN_CONTEXT["round"]}(tp)
\tlw\tt3, {_IN_BLOCK["rounds"]}(gp)
\tslli\tt4, t0, 2
\taddi\tt2, t2, 1
\tadd\tt3, t3, t4
\tsw\tt2, {_IN_CONTEXT["round"]}(tp)
\tsw\tt2, 0(t3)
"""

    def one(found: re.Match[str]) -> str:
        apart, on = (f".Leddy_{name}{next(number)}" for name in ("apart", "on"))
        # At a tail call ra is the caller's already.
        slow = f"\ttail\t{SWITCH}" if found[1] == "tail" else f"\tcall\t{SWITCH}\n\tj\t{on}"
        return (
            f"\tlw\tt0, {_IN_CONTEXT['barrier']}(tp)\n\tlw\tt1, {_IN_BLOCK['group_warps']}(gp)\n"
            f"\tbltz\tt0, {apart}\n{count if early else ''}\t.insn r 0x0b, 4, 0, x0, t0, t1\n"
            f"{on}:\n{'' if found[1] == 'call' else chr(9) + 'ret' + chr(10)}"
            f"\t.subsection 1\n{apart}:\n{slow}\n\t.previous"
        )

    return _BARRIER.sub(one, assembly)


def switch_words(registers: tuple[str, ...]) -> int:
    """Words a fiber keeps."""
    return len(FIBER) + len(registers)


def switch_code(registers: tuple[str, ...]) -> str:
    """Assembly of `eddy_switch`, `eddy_next_fiber` and `eddy_resume` (library/fibers.S).

    eddy_switch is called, and returns when the fiber's turn comes again; it finds its sp and s registers as it left
    them. eddy_next_fiber expects the running fiber's rows in t0, eddy_resume those of the one that goes on.
    """
    places = [("ra", 0), ("sp", ROW_BYTES * FIBER.index("stack"))]
    places += [(name, ROW_BYTES * (len(FIBER) + k)) for k, name in enumerate(registers)]
    stores = [f"\t{'fsw' if name[0] == 'f' else 'sw'}\t{name}, {at}(t0)" for name, at in places]
    loads = [f"\t{'flw' if name[0] == 'f' else 'lw'}\t{name}, {at}(t0)" for name, at in places]
    at = _IN_CONTEXT
    lines = [
        '\t.section\t.text.eddy_switch, "ax"',
        *(f"\t.globl\t{name}" for name in (SWITCH, "eddy_next_fiber", "eddy_resume")),
        f"{SWITCH}:",
        "\tli\tt0, -1",
        "\t.insn r 0x0b, 3, 0, x0, t0, x0",
        f"\tlw\tt0, {at['fiber']}(tp)",
        *stores,
        "eddy_next_fiber:",
        f"\tlw\tt1, {at['last']}(tp)",
        f"\tlw\tt2, {_IN_BLOCK['fiber_stride']}(gp)",
        "\tbne\tt0, t1, .Leddy_more",
        "\ttail\teddy_round",
        ".Leddy_more:",
        "\tadd\tt0, t0, t2",
        f"\tsw\tt0, {at['fiber']}(tp)",
        "eddy_resume:",
        *loads,
        f"\tlw\tt6, {ROW_BYTES * FIBER.index('local')}(t0)",
        "\tret",
    ]
    return "\n".join(lines) + "\n"
