# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Barriers, and the switch between work-items of a lane: written for each program, with the registers it uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from eddy.gpu.programs.layout import BLOCK, CONTEXT, FIBER, MEETING_OUT, MEETING_TURN, ROW_BYTES

SWITCH = "eddy_switch"
"""What `barrier` calls where a lane has several work-items."""
_IN_CONTEXT = {name: ROW_BYTES * k for k, name in enumerate(CONTEXT)}
_IN_BLOCK = {name: 4 * k for k, name in enumerate(BLOCK)}
_BARRIER = re.compile(r"^\t(call|tail)\teddy_barrier$", re.M)
MAX_WAYS = 6
"""Ways of keeping registers in one program."""
_FINDING = 3
"""Finding the way takes as long as keeping so many registers."""
_LABEL = re.compile(r"^([A-Za-z_][\w$]*):", re.M)
_INSTRUCTION = re.compile(r"^\t[a-z][^\n]*", re.M)
_WORD = re.compile(r"[A-Za-z_][\w$]*")
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


def saved_registers_by_kernel(
    assembly: str, entries: Sequence[str]
) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """What fibers of each kernel keep: the registers of the functions on its ways to a barrier.

    What such a function calls besides saves for itself what it uses. Where kernels differ too much, some keep more than
    they need.

    Args:
        assembly: The compiler's, with a section for each function.
        entries: The function each kernel begins with.

    Returns:
        The registers of each way, `MAX_WAYS` at most; and by entry, which way is its own.
    """
    parts = _LABEL.split(assembly)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    named = {name: set(_WORD.findall("\n".join(_INSTRUCTION.findall(text)))) for name, text in texts.items()}
    waits = {name for name, text in texts.items() if _BARRIER.search(text)}
    while more := {name for name, words in named.items() if name not in waits and words & waits}:
        waits |= more
    wanted = []
    for entry in entries:
        reached, found = set(), {entry}
        while found:
            reached |= found
            found = set().union(*(named[name] & waits for name in found)) - reached
        wanted.append(kept_registers("".join(texts[name] for name in sorted(reached))))
    ways = _few(wanted)
    return ways, tuple(_fitting(ways, registers) for registers in wanted)


def _few(wanted: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Ways for what kernels want: few, and with few registers more than that."""
    kernels = Counter(wanted)
    while len(kernels) > MAX_WAYS:
        _, one, other = min((_more(kernels, one, other), one, other) for one, other in combinations(sorted(kernels), 2))
        number = kernels.pop(one) + kernels.pop(other)
        kernels[_in_order({*one, *other})] += number
    every = _in_order({name for way in kernels for name in way})
    if kernels and len(every) - min(map(len, kernels)) <= _FINDING:
        return (every,)
    return tuple(sorted(kernels))


def _more(kernels: Counter[tuple[str, ...]], one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Registers that kernels keep more where two ways are one."""
    both = len({*one, *other})
    return (both - len(one)) * kernels[one] + (both - len(other)) * kernels[other]


def _fitting(ways: Sequence[tuple[str, ...]], registers: tuple[str, ...]) -> int:
    """The shortest way that has them all."""
    return min((len(way), k) for k, way in enumerate(ways) if set(registers) <= set(way))[1]


def _in_order(registers: set[str]) -> tuple[str, ...]:
    return tuple(sorted(registers, key=lambda name: (name[0] == "f", int(name.lstrip("fs")))))


def _saved(number: int) -> int:
    """s-number of a register from its own."""
    return number - 8 if number < 10 else number - 16


def with_barriers(assembly: str, early: bool, meets: bool = False) -> str:
    """Assembly with what `barrier` does in place of its calls.

    Args:
        assembly: The compiler's.
        meets: Whether the program has subgroups; then lanes say that they wait here (library/builtins_subgroup.h).
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

    out, back = (_says(MEETING_OUT), _says(0)) if meets else ("", "")

    def one(found: re.Match[str]) -> str:
        apart, on = (f".Leddy_{name}{next(number)}" for name in ("apart", "on"))
        # At a tail call ra is the caller's already.
        slow = f"\ttail\t{SWITCH}" if found[1] == "tail" else f"\tcall\t{SWITCH}\n\tj\t{on}"
        return (
            f"\tlw\tt0, {_IN_CONTEXT['barrier']}(tp)\n\tlw\tt1, {_IN_BLOCK['group_warps']}(gp)\n"
            f"\tbltz\tt0, {apart}\n{count if early else ''}{out}\t.insn r 0x0b, 4, 0, x0, t0, t1\n"
            f"{on}:\n{back}{'' if found[1] == 'call' else chr(9) + 'ret' + chr(10)}"
            f"\t.subsection 1\n{apart}:\n{slow}\n\t.previous"
        )

    return _BARRIER.sub(one, assembly)


def _says(where: int) -> str:
    """What tells the other lanes of the warp where this one waits."""
    return f"\tli\tt2, {where}\n\tsw\tt2, {_IN_CONTEXT['meeting']}(tp)\n"


def _turn_end() -> list[str]:
    """Waits until all lanes of the warp have done their items of this turn, or wait for their whole work-group."""
    return [
        _says(MEETING_TURN).rstrip(),
        "1:\tli\tt0, -1",
        "\t.insn r 0x0b, 3, 0, x0, t0, x0",
        "\tcsrr\tt1, 0xfc0",
        "\tsll\tt0, t0, t1",
        "\tnot\tt0, t0",
        "\tcsrr\ta0, 0xcc4",
        "\tbeq\ta0, t0, 2f",
        "\tcall\teddy_lowest",
        "\tbne\ta0, a7, 1b",
        f"2:\tsw\tx0, {_IN_CONTEXT['meeting']}(tp)",
        f"\tlw\tt0, {_IN_CONTEXT['fiber']}(tp)",
    ]


def switch_words(registers: tuple[str, ...]) -> int:
    """Words a fiber keeps."""
    return len(FIBER) + len(registers)


def switch_code(ways: Sequence[tuple[str, ...]], meets: bool = False) -> str:
    """Assembly of `eddy_switch`, `eddy_next_fiber` and `eddy_resume` (library/fibers.S).

    eddy_switch is called, and returns when the fiber's turn comes again; it finds its sp and s registers as it left
    them. eddy_next_fiber expects the running fiber's rows in t0, eddy_resume those of the one that goes on.

    Args:
        ways: The registers of each way of keeping them; the launch block says which is the kernel's.
        meets: Whether the program has subgroups; then the lanes of a warp go from turn to turn together.
    """
    at = _IN_CONTEXT
    out, back = ([_says(where).rstrip()] if meets else [] for where in (MEETING_OUT, 0))
    leave = ["\tj\teddy_next_fiber"] if len(ways) > 1 else []
    lines = [
        '\t.section\t.text.eddy_switch, "ax"',
        *(f"\t.globl\t{name}" for name in (SWITCH, "eddy_next_fiber", "eddy_resume")),
        f"{SWITCH}:",
        "\tli\tt0, -1",
        "\t.insn r 0x0b, 3, 0, x0, t0, x0",
        f"\tlw\tt0, {at['fiber']}(tp)",
        *_by_way("keep", ["\n".join([*_moved("s", way), *leave]) for way in ways]),
        "eddy_next_fiber:",
        *(_turn_end() if meets else ()),
        f"\tlw\tt1, {at['last']}(tp)",
        f"\tlw\tt2, {_IN_BLOCK['fiber_stride']}(gp)",
        "\tbne\tt0, t1, .Leddy_more",
        *out,
        "\ttail\teddy_round",
        ".Leddy_more:",
        "\tadd\tt0, t0, t2",
        f"\tsw\tt0, {at['fiber']}(tp)",
        "eddy_resume:",
        *back,
        *_by_way(
            "take",
            [
                "\n".join([*_moved("l", way), f"\tlw\tt6, {ROW_BYTES * FIBER.index('local')}(t0)", "\tret"])
                for way in ways
            ],
        ),
    ]
    return "\n".join(lines) + "\n"


def _moved(to: str, registers: tuple[str, ...]) -> list[str]:
    """Stores ("s") or loads ("l") of what a fiber keeps, between registers and its rows in t0."""
    places = [("ra", 0), ("sp", ROW_BYTES * FIBER.index("stack"))]
    places += [(name, ROW_BYTES * (len(FIBER) + k)) for k, name in enumerate(registers)]
    return [f"\t{'f' if name[0] == 'f' else ''}{to}w\t{name}, {at}(t0)" for name, at in places]


def _by_way(label: str, codes: list[str]) -> list[str]:
    """The code of the kernel's way, for all lanes the same; where there are several, each ends by going elsewhere."""
    last = len(codes) - 1
    lines = [f"\tlw\tt1, {_IN_BLOCK['fiber_way']}(gp)"] if last else []
    for k in range(last):
        lines += [f"\tbeqz\tt1, .Leddy_{label}{k}", *(["\taddi\tt1, t1, -1"] if k + 1 < last else [])]
    lines.append(codes[last])
    for k in range(last):
        lines += [f".Leddy_{label}{k}:", codes[k]]
    return lines
