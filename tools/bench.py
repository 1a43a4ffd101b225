# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Run benchmarks and print what they measured.

    make bench                                   all, each in a process of its own
    make bench ARGS="sim price"                  some
    make bench ARGS="kept --jobs 5000 --json"    one, with its options and as one JSON object
    make bench ARGS="kept --help"                what it measures, and its options

First it says how fast the machine is next to the one the goals were set on; every goal is a ratio to something measured
in the same run (see `tools/yardstick.py`). The exit code is 1 where a goal is missed.

A case is a module `tools/benches/NAME.py`. Its docstring is its help, and it has

    bench(options) -> dict       what `--json` prints; figures by name, or rows of them
    OPTIONS                      optional: options by name, as `add_argument` takes them
    LEAST, MOST                  optional: goals of figures, by name
    lines(found)                 optional: lines of text, in place of one a figure
    missed(found)                optional: goals that are missed, in place of those of LEAST and MOST
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ONE = "--one"
"""Before a name: that case alone, without the machine's speed."""
CASES = sorted(path.stem for path in (Path(__file__).parent / "benches").glob("[a-z]*.py"))


def figures(found: Mapping[str, Any], row: str = "") -> Iterator[tuple[str, str, Any]]:
    """Row, name and value of every figure."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from figures(value, f"{row} {name}".strip())
        else:
            yield row, name, value


def goals(case: ModuleType) -> dict[str, tuple[str, float]]:
    """By figure: which side of the goal it has to be on, and the goal."""
    least, most = getattr(case, "LEAST", {}), getattr(case, "MOST", {})
    return {name: ("least", goal) for name, goal in least.items()} | {n: ("most", goal) for n, goal in most.items()}


def met(value: float, side: str, goal: float) -> bool:
    """Whether a figure meets its goal."""
    return value >= goal if side == "least" else value <= goal


def _lines(found: Mapping[str, Any], wanted: Mapping[str, tuple[str, float]]) -> Iterator[str]:
    for row, name, value in figures(found):
        numbers = value if isinstance(value, (list, tuple)) else [value]
        text = " ".join(f"{each:.4g}" if isinstance(each, float) else str(each) for each in numbers)
        goal = ""
        if name in wanted:
            side, bound = wanted[name]
            goal = f" (goal at {side} {bound:g}: {'met' if met(value, side, bound) else 'missed'})"
        yield f"{row + ': ' if row else ''}{name}: {text}{goal}"


def _missed(found: Mapping[str, Any], wanted: Mapping[str, tuple[str, float]]) -> list[str]:
    return [f"{row} {name}".strip() for row, name, v in figures(found) if name in wanted and not met(v, *wanted[name])]


def run(name: str, arguments: list[str]) -> int:
    """Run one case; exit code 1 where a goal is missed."""
    case: Any = import_module(f"benches.{name}")
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(f"bench.py {name}", description=case.__doc__, formatter_class=form)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    for option, said in getattr(case, "OPTIONS", {}).items():
        parser.add_argument(option, **said)
    options = parser.parse_args(arguments)
    found = case.bench(options)
    wanted = goals(case)
    if options.json:
        print(json.dumps(found))
    else:
        lines: Iterable[str] = case.lines(found) if hasattr(case, "lines") else _lines(found, wanted)
        print(*(f"{name}: {line}" for line in lines), sep="\n")
    missed = case.missed(found) if hasattr(case, "missed") else _missed(found, wanted)
    for goal in missed:
        print(f"{name}: goal missed: {goal}", file=sys.stderr)
    return int(bool(missed))


def main(arguments: list[str]) -> int:
    """Run the cases that are named, or all."""
    chosen = [each for each in arguments if each in CASES]
    options = [each for each in arguments if each not in CASES]
    if len(chosen) != 1 and not set(options) <= {"--json"}:
        print(f"give names of benchmarks, and options of one: {', '.join(CASES)}", file=sys.stderr)
        return 1
    if "--help" not in options:
        subprocess.run([sys.executable, Path(__file__).with_name("yardstick.py")], stdout=sys.stderr, check=True)
    if len(chosen) == 1:
        return run(chosen[0], options)
    codes = [subprocess.run([sys.executable, __file__, ONE, name, *options], check=False) for name in chosen or CASES]
    return int(any(each.returncode for each in codes))


if __name__ == "__main__":
    alone = sys.argv[1:2] == [ONE]
    sys.exit(run(sys.argv[2], sys.argv[3:]) if alone else main(sys.argv[1:]))
