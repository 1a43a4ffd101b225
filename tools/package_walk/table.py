# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Steps of the walks as rows: printed as they come, and all again in one table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from package_walk.process import Failed
from package_walk.walk import DONE, FAILED


@dataclass(frozen=True)
class Row:
    """A step that was made.

    Attributes:
        where: With which Python, or in which system.
        step: What was done.
        result: `DONE` or `FAILED`.
        said: What came of it.
        took_s: Wall seconds.
    """

    where: str
    step: str
    result: str
    said: str
    took_s: float


@dataclass
class Steps:
    """The rows so far."""

    rows: list[Row] = field(default_factory=list)

    def take(self, where: str, lines: Iterable[str]) -> None:
        """Take in the steps of a walk, and print each; one that ends it is a row as well."""
        try:
            for line in lines:
                result, _, rest = line.partition(" ")
                if result in (DONE, FAILED) and rest.count("\t") == 2:
                    step, said, took = rest.strip().split("\t")
                    self._add(Row(where, step, result, said, float(took)))
                else:
                    print(f"    {line}", flush=True)
        except Failed as failure:
            print(f"    {failure}", flush=True)
            known = self.rows and self.rows[-1].result == FAILED and self.rows[-1].where == where
            if not known:
                self._add(Row(where, "the walk", FAILED, str(failure).strip().splitlines()[-1], 0.0))

    def do(self, where: str, step: str, run: Callable[[], str]) -> bool:
        """Make one step by itself; whether it went well."""
        self.take(where, timed(step, run))
        return self.rows[-1].result == DONE

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        print(f"  {row.result:<4} {row.where}: {row.step} ({row.took_s:.1f} s)", flush=True)

    @property
    def failed(self) -> list[Row]:
        """Those that went wrong."""
        return [row for row in self.rows if row.result == FAILED]

    def table(self) -> str:
        """All of them, a line each."""
        wide = [max((len(getattr(row, name)) for row in self.rows), default=0) for name in ("where", "step")]
        lines = [f"{'':<4}  {'where':<{wide[0]}}  {'step':<{wide[1]}}  {'s':>7}  what came of it"]
        for row in self.rows:
            said = row.said.strip().splitlines()[-1:] or [""]
            text = f"{row.result:<4}  {row.where:<{wide[0]}}  {row.step:<{wide[1]}}  {row.took_s:7.1f}  {said[0][:100]}"
            lines.append(text.rstrip())
        return "\n".join(lines)


def timed(step: str, run: Callable[[], str]) -> Iterator[str]:
    """A step as a walk prints it, with how long it took.

    Raises:
        Failed: As `run` did, after the line that says so.
    """
    started_s = time.monotonic()
    try:
        said = run()
    except Failed as failure:
        last = (str(failure).strip().splitlines() or [""])[-1].replace("\t", " ")
        yield f"{FAILED} {step}\t{last}\t{time.monotonic() - started_s:.1f}"
        raise
    one_line = " ".join(said.split()) if said.count("\n") < 2 else ""
    yield f"{DONE} {step}\t{one_line}\t{time.monotonic() - started_s:.1f}"
