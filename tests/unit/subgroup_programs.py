# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Random programs of structured control flow in which items of a subgroup meet, as OpenCL C and by an interpreter.

The interpreter says who meets whom: it runs a subgroup as a set of items that parts at branches and joins behind
them. Items in a loop are together in each round; who continues waits for the round's end, who breaks for the loop's,
who returns from a function for its call's, and who returns from the kernel takes no part any more. It knows nothing of
places, numbers or blocks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

WORD = (1 << 32) - 1
VARIABLES = 3
MEETINGS = ("ballot", "count", "sum", "scan", "first", "any", "all", "elect")
FORMS = """
#define COUNT() popcount(sub_group_ballot(1).x)
__attribute__((noinline)) int leaves(int x) { for (int k = 0;; k++) { if (k >= x) return 100 * k + COUNT(); } }
kernel void forms(global int *out, global const int *in) {
  int i = get_global_id(0), x = in[i], k, y;
  for (k = 0;; k++) { if (k >= x) { y = COUNT(); break; } }
  out[8 * i] = y;
  for (k = 0;; k++) { if (k >= x) break; }
  out[8 * i + 1] = COUNT();
  out[8 * i + 2] = leaves(x) - 100 * x;
  for (k = 0, y = 0; k < 3; k++) { if (k < x) continue; y = 10 * y + COUNT(); }
  out[8 * i + 3] = y;
  k = 0; y = 0;
again: if (k == 1) y += COUNT();
  y *= 10;
  if (++k < x) goto again;
  out[8 * i + 4] = y + COUNT();
  y = 0; switch (x) { case 0: y = COUNT(); default: y += 10 * COUNT(); break; case 2: y = 100 * COUNT(); }
  out[8 * i + 5] = y;
  for (k = 0, y = 0; k < x; k++) {
    while (1) { y += COUNT(); if (y & 1) { y += 100 * COUNT(); break; } else if (y > 6) break; }
    y *= 2;
  }
  out[8 * i + 6] = y;
  out[8 * i + 7] = x && COUNT() == 3;
}"""
"""What can be said by hand (test_gpu_meetings.py)."""
Tree = tuple[Any, ...]
Items = frozenset[int]
NOBODY: Items = frozenset()


class Maker:
    """Makes programs: trees of tuples, statement kind first.

    Args:
        seed: Of everything that is drawn.
    """

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._counters = 0

    def kernel(self) -> Tree:
        """A kernel with two functions that it calls."""
        functions = [self._function(0), self._function(1)]
        return (*functions, self._function(2))

    def _function(self, callable_functions: int) -> Tree:
        self._callable, first = callable_functions, self._counters
        body = self._block(3, loop=False, inside=False)
        return (*body, ("meet", 0, "sum", self._value())), range(first, self._counters)

    def _value(self) -> Tree:
        draw = self._draw
        return draw.randrange(VARIABLES), draw.randrange(1, 99, 2), draw.randrange(99)

    def _condition(self) -> Tree:
        return (*self._value(), self._draw.randrange(1, 4))

    def _counter(self) -> int:
        self._counters += 1
        return self._counters - 1

    def _block(self, depth: int, loop: bool, inside: bool, most: int = 3) -> Tree:
        """Statements; `loop` whether one may continue, `inside` whether one may break."""
        return tuple(self._statement(depth, loop, inside) for _ in range(self._draw.randint(1, most)))

    def _statement(self, depth: int, loop: bool, inside: bool) -> Tree:
        draw = self._draw
        kinds = ["set", "meet", "meet", "meet"]
        kinds += ["if", "if", "for", "forever", "do", "switch", "call"] if depth else []
        kinds += ["break", "break"] * inside + ["continue", "continue"] * loop
        kinds += ["return"] if draw.random() < 0.3 else []
        kind = draw.choice(kinds)
        if kind == "call" and not self._callable:
            kind = "meet"
        variable = draw.randrange(VARIABLES)
        if kind == "set":
            return kind, variable, self._value()
        if kind == "meet":
            return kind, variable, draw.choice(MEETINGS), self._value()
        if kind == "if":
            otherwise = self._block(depth - 1, loop, inside) if draw.random() < 0.5 else ()
            return kind, self._condition(), self._block(depth - 1, loop, inside), otherwise
        if kind == "for":
            counter = self._counter()
            met = draw.choice(MEETINGS) if draw.random() < 0.4 else ""
            return kind, counter, self._value(), met, self._block(depth - 1, True, True)
        if kind == "forever":
            counter, leaves = self._counter(), draw.choice(("break", "break", "return"))
            leaving = (*self._block(min(depth - 1, 1), False, False, 2), (leaves,))
            turned = draw.random() < 0.4
            return kind, counter, self._value(), leaving, turned, self._block(depth - 1, not turned, True)
        if kind == "do":
            counter = self._counter()
            met = draw.choice(MEETINGS) if draw.random() < 0.5 else ""
            return kind, counter, self._condition(), met, self._block(depth - 1, True, True)
        if kind == "switch":
            cases = [(self._block(depth - 1, loop, True, 2), draw.random() < 0.5) for _ in range(3)]
            return kind, self._value(), draw.randrange(3), tuple(cases)
        if kind == "call":
            return kind, variable, draw.randrange(self._callable), self._value()
        # What leaves does so for some items only.
        return "if", self._condition(), (*self._block(0, False, False, 1), (kind,)), ()


def text_of(name: str, functions: Tree) -> str:
    """A program in OpenCL C: `kernel void name(global uint *out, global const uint *in)`."""
    lines = []
    for k, (body, counters) in enumerate(functions):
        last = k == len(functions) - 1
        head = f"kernel void {name}(global uint *out, global const uint *in)" if last else f"uint {name}_{k}(uint v0)"
        begin = "uint v0 = in[get_global_id(0)], " if last else "uint "
        variables = ", ".join(f"v{n} = v0 * {n}" for n in range(1, VARIABLES))
        counted = "".join(f" uint k{n} = 0;" for n in counters)
        end = "{ out[get_global_id(0)] = v0; return; }" if last else "return v0;"
        lines += [f"{head} {{", f"  {begin}{variables};{counted}", *_texts(body, name, end), f"  {end}", "}"]
    return "\n".join(lines) + "\n"


def _value(value: Tree) -> str:
    return f"(v{value[0]} * {value[1]}u + {value[2]}u)"


def _few(value: Tree) -> str:
    return f"({_value(value)} >> 3 & 3)"


def _met(how: str, value: str) -> str:
    return {
        "ballot": f"sub_group_ballot({value} & 2).x",
        "count": "popcount(sub_group_ballot(1).x)",
        "sum": f"sub_group_reduce_add({value})",
        "scan": f"sub_group_scan_exclusive_add({value})",
        "first": f"sub_group_broadcast_first({value})",
        "any": f"(uint)sub_group_any({value} & 2)",
        "all": f"(uint)sub_group_all({value} & 2)",
        "elect": "(uint)sub_group_elect()",
    }[how]


def _texts(body: Tree, name: str, end: str) -> list[str]:
    """The lines of statements."""
    lines: list[str] = []

    def inner(statements: Tree) -> str:
        return "{ " + " ".join(_texts(statements, name, end)) + " }"

    for kind, *rest in body:
        if kind == "set":
            lines.append(f"v{rest[0]} = {_value(rest[1])};")
        elif kind == "meet":
            lines.append(f"v{rest[0]} = v{rest[0]} * 5 + {_met(rest[1], _value(rest[2]))};")
        elif kind == "if":
            condition, then, otherwise = rest
            part = f" else {inner(otherwise)}" if otherwise else ""
            lines.append(f"if ({_few(condition)} < {condition[3]}) {inner(then)}{part}")
        elif kind == "for":
            k, value, met, inside = rest
            and_met = f" && ({_met(met, _value(value))} & 7) != 5" if met else ""
            lines.append(f"for (k{k} = 0; k{k} < {_few(value)}{and_met}; k{k}++) {inner(inside)}")
        elif kind == "forever":
            k, value, leaving, turned, inside = rest
            more = f"k{k}++ < {_few(value)}"
            if turned:
                lines.append(
                    f"k{k} = 0; while (1) {{ if ({more}) {{ {inner(inside)} continue; }} else {inner(leaving)} }}"
                )
            else:
                lines.append(f"k{k} = 0; while (1) {{ if (!({more})) {inner(leaving)} {inner(inside)} }}")
        elif kind == "do":
            k, condition, met, inside = rest
            and_met = f" && ({_met(met, _value(condition))} & 7) != 5" if met else ""
            again = f"++k{k} < 4 && {_few(condition)} < {condition[3]}"
            lines.append(f"k{k} = 0; do {inner(inside)} while ({again}{and_met});")
        elif kind == "switch":
            value, default, cases = rest
            parts = [
                f"{'default' if n == default else f'case {n}'}: {inner(inside)}{' break;' if breaks else ''}"
                for n, (inside, breaks) in enumerate(cases)
            ]
            lines.append(f"switch ({_few(value)}) {{ {' '.join(parts)} }}")
        elif kind == "call":
            lines.append(f"v{rest[0]} += {name}_{rest[1]}({_value(rest[2])});")
        else:
            lines.append(end if kind == "return" else f"{kind};")
    return [f"  {line}" for line in lines]


@dataclass(slots=True)
class _Frame:
    """A function's variables and counters, by name and item; and who has left what is being run."""

    values: dict[str, dict[int, int]]
    returned: dict[int, int] = field(default_factory=dict)
    broken: Items = NOBODY
    continued: Items = NOBODY


def run(functions: Tree, given: dict[int, int]) -> dict[int, int]:
    """What each item of one subgroup ends with.

    Args:
        functions: Of `Maker.kernel`.
        given: What each has at the beginning, by its place in the subgroup.
    """
    return _call(functions, len(functions) - 1, given)


def _call(functions: Tree, which: int, given: dict[int, int]) -> dict[int, int]:
    values = {f"v{n}": {item: (x * n if n else x) & WORD for item, x in given.items()} for n in range(VARIABLES)}
    frame = _Frame(values)
    for item in _run(functions, functions[which][0], frame, frozenset(given)):
        frame.returned[item] = frame.values["v0"][item]
    return frame.returned


def _word(frame: _Frame, value: Tree, item: int) -> int:
    variable, factor, summand = value[:3]
    return (frame.values[f"v{variable}"][item] * int(factor) + int(summand)) & WORD


def _small(frame: _Frame, value: Tree, item: int) -> int:
    return _word(frame, value, item) >> 3 & 3


def _meet(how: str, values: dict[int, int]) -> dict[int, int]:
    """What items that meet get."""
    here = sorted(values)
    twos = {item: values[item] & 2 for item in here}
    whole = {
        "ballot": sum(1 << item for item in here if twos[item]),
        "count": len(here),
        "sum": sum(values.values()) & WORD,
        "first": values[here[0]] if here else 0,
        "any": int(any(twos.values())),
        "all": int(all(twos.values())),
    }
    if how == "scan":
        return {item: sum(values[other] for other in here if other < item) & WORD for item in here}
    if how == "elect":
        return {item: int(item == here[0]) for item in here}
    return dict.fromkeys(here, whole[how])


def _holds(frame: _Frame, met: str, value: Tree, items: Items) -> Items:
    """Those of some for which a loop's condition holds, all of whom meet in it."""
    if not met:
        return items
    found = _meet(met, {item: _word(frame, value, item) for item in items})
    return frozenset(item for item in items if found[item] & 7 != 5)


def _run(functions: Tree, body: Tree, frame: _Frame, items: Items) -> Items:
    """Runs statements; those that come to their end."""
    for statement in body:
        items = _step(functions, statement, frame, items)
    return items


def _step(functions: Tree, statement: Tree, frame: _Frame, items: Items) -> Items:
    kind, *rest = statement
    if not items:
        return items
    if kind in ("set", "meet", "call"):
        values = {item: _word(frame, rest[-1], item) for item in items}
        own = frame.values[f"v{rest[0]}"]
        if kind == "set":
            own.update(values)
        elif kind == "meet":
            own.update({item: (own[item] * 5 + x) & WORD for item, x in _meet(rest[1], values).items()})
        else:
            own.update({item: (own[item] + x) & WORD for item, x in _call(functions, rest[1], values).items()})
        return items
    if kind == "if":
        condition, then, otherwise = rest
        chosen = frozenset(item for item in items if _small(frame, condition, item) < condition[3])
        return _run(functions, then, frame, chosen) | _run(functions, otherwise, frame, items - chosen)
    if kind == "switch":
        return _switch(functions, rest, frame, items)
    if kind in ("for", "forever", "do"):
        return _loop(functions, kind, rest, frame, items)
    if kind == "break":
        frame.broken |= items
    elif kind == "continue":
        frame.continued |= items
    else:
        frame.returned |= {item: frame.values["v0"][item] for item in items}
    return NOBODY


def _switch(functions: Tree, rest: list[Any], frame: _Frame, items: Items) -> Items:
    value, default, cases = rest
    chosen = {item: _small(frame, value, item) for item in items}
    known = {n for n in range(len(cases)) if n != default}
    outer, frame.broken, running = frame.broken, NOBODY, NOBODY
    for n, (inside, breaks) in enumerate(cases):
        own = {item for item, x in chosen.items() if (x not in known if n == default else x == n)}
        running = _run(functions, inside, frame, running | own)
        if breaks:
            frame.broken |= running
            running = NOBODY
    left, frame.broken = frame.broken | running, outer
    return left


def _loop(functions: Tree, kind: str, rest: list[Any], frame: _Frame, items: Items) -> Items:
    """A loop: all that are in it do each round together."""
    counts = dict.fromkeys(items, 0)
    outer, frame.broken = (frame.broken, frame.continued), NOBODY
    out, running = NOBODY, items
    while running:
        frame.continued = NOBODY
        if kind == "for":
            _, value, met, inside = rest
            more = frozenset(item for item in running if counts[item] < _small(frame, value, item))
            more = _holds(frame, met, value, more)
            out |= running - more
            running = _run(functions, inside, frame, more) | frame.continued
            counts |= {item: counts[item] + 1 for item in running}
        elif kind == "forever":
            _, value, leaving, turned, inside = rest
            more = frozenset(item for item in running if counts[item] < _small(frame, value, item))
            counts |= {item: counts[item] + 1 for item in running}
            if turned:
                stays = _run(functions, inside, frame, more)
                _run(functions, leaving, frame, running - more)
                running = stays | frame.continued
            else:
                _run(functions, leaving, frame, running - more)
                running = _run(functions, inside, frame, more) | frame.continued
        else:
            _, condition, met, inside = rest
            ended = _run(functions, inside, frame, running) | frame.continued
            counts |= {item: counts[item] + 1 for item in ended}
            more = frozenset(
                item for item in ended if counts[item] < 4 and _small(frame, condition, item) < condition[3]
            )
            more = _holds(frame, met, condition, more)
            out |= ended - more
            running = more
    out |= frame.broken
    frame.broken, frame.continued = outer
    return out
