# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tries a kernel in the slot's top: which arguments are addresses, what it reads and writes there, how long it takes.

What a register holds does not follow from its width: HLS gives addresses and sizes 64 bits alike. Each argument is set
to a place of its own in memory, and the addresses that the kernel then asks for say which of them it uses as one, in
which direction, and how far. Nothing of this is told by a kernel that never ends; it is refused then.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from eddy.core.errors import InvalidRequest
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ArgumentRegister

from eddy_sim.modcheck.harness import AP_CTRL, CONTINUE, DONE, GIE, IER, ISR, START
from eddy_sim.modcheck.model import Model, ModuleInstance, build_checked
from eddy_sim.modcheck.port import Memory, ModuleUnresponsive, Port
from eddy_sim.tools.products import Progress, ignore_progress

PLACE, SPACE = 0x1000_0000, 0x0100_0000
"""Where the first argument's memory lies, and how far they are apart: below 4 GiB, for 32-bit addresses."""
CYCLES = 60_000
"""How long a trial waits for the end of a run."""
LONGEST_CYCLES = 4_000_000
"""How long it waits where no scalar makes the run shorter."""
RESET_CYCLES = 8
SIZES = (16, 64, 8, 32, 4, 3, 128, 256, 1, 2, 512, 1024, 2048, 0)
"""What scalars are tried with, all alike, in this order."""
POINTER_SIZES = (16, 64, 4, 3, 1)
"""The same where it is looked for which arguments are addresses, until a run ends: a longer one may not get to all."""


@dataclass
class Touched:
    """What a run did at an argument's place: the bytes from its beginning to the last one read, and written."""

    read: int = 0
    written: int = 0
    ports: set[int] = field(default_factory=set)


@dataclass
class TrialRun:
    """A run.

    Attributes:
        values: What the arguments were.
        ended: Whether it came to its end.
        cycles: How long it took.
        touched: What it did at each argument's place.
        astray: The first address it asked for that is no argument's; None where there was none.
        status: What the wrapper's status says.
        results: Values of its result registers.
        left: What it left at each argument's place, of those that it writes to.
        found: What was there before.
        timed: Names of what measures time: results, and arguments at whose place such is written.
        watched: What the registers held at the end that the trial was told to look at besides.
    """

    values: Mapping[str, int]
    ended: bool = False
    cycles: int = 0
    touched: dict[str, Touched] = field(default_factory=dict)
    astray: int | None = None
    status: int = 0
    results: dict[str, int] = field(default_factory=dict)
    left: dict[str, bytes] = field(default_factory=dict)
    found: dict[str, bytes] = field(default_factory=dict)
    timed: set[str] = field(default_factory=set)
    watched: dict[str, int] = field(default_factory=dict)

    def merits(self, pointers: Sequence[str]) -> tuple[bool, bool, bool, int, int]:
        """How much a run tells, for comparing: of two that end alike, that which moved more of its streams."""
        moved = sum(value != 0 for value in (*self.watched.values(), *self.results.values()))
        return self.ended, self.astray is None, not self.status, self.reached(pointers), moved if self.status else 0

    def reached(self, pointers: Sequence[str]) -> int:
        """At how many of some addresses it asked for something."""
        return sum(name in self.touched for name in pointers)


class KernelTrial:
    """A kernel's model, and runs of it.

    Args:
        manifest: Of the module; of its registers only offsets, widths and directions matter.
        progress: Told what is being done.
        most_cycles: How long a run may take.
        watched: Offsets of registers to look at when a run has ended, by what they are called.
        longest: How long it waits where no scalar makes the run shorter.

    Raises:
        BuildFailed: It does not compile.
    """

    def __init__(
        self,
        manifest: Path,
        progress: Progress = ignore_progress,
        most_cycles: int = CYCLES,
        watched: Mapping[str, int] | None = None,
        longest: int = LONGEST_CYCLES,
    ) -> None:
        self.most_cycles = most_cycles
        self._watched = watched or {}
        self.longest = longest
        self.manifest = load_module_manifest(manifest)
        self._model = Model(build_checked(manifest.resolve(), progress)[0])
        self.inputs = self.manifest.inputs()
        self._progress = progress

    def place(self, name: str) -> int:
        """Where the memory of an argument lies."""
        return PLACE + SPACE * [register.name for register in self.inputs].index(name)

    def run(
        self,
        pointers: Sequence[str],
        scalars: Mapping[str, int],
        seed: int = 1,
        most: int = 15,
        cycles: int = CYCLES,
        pause: float = 0.0,
    ) -> TrialRun:
        """Run it from reset: these arguments are the addresses of their places, the others numbers.

        Memory holds its data, of values up to `most`, and pauses in that share of the cycles.
        """
        values = {
            register.name: self.place(register.name) if register.name in pointers else _fit(register, scalars)
            for register in self.inputs
        }
        port = Port(ModuleInstance(self._model))
        port.reset(RESET_CYCLES, Memory(seed, most))
        port.pause(pause, 1)
        run = TrialRun(values)
        with contextlib.suppress(ModuleUnresponsive):
            self._carry_out(port, run, cycles)
        self._see(port.trace().cycles, run)
        for name, touched in run.touched.items():
            if touched.written and run.ended:
                places = range(self.place(name), self.place(name) + touched.written, 8)
                for memory, kept in ((port.memory, run.left), (Memory(seed, most), run.found)):
                    kept[name] = b"".join(memory.word(place).to_bytes(8, "little") for place in places)
        return run

    def _carry_out(self, port: Port, run: TrialRun, cycles: int) -> None:
        for offset, value in self.manifest.writes(run.values):
            port.write(offset, value)
        port.write(GIE, 1)
        port.write(IER, 1)
        port.write(AP_CTRL, START)
        run.cycles, run.ended = self._wait(port, run, max(cycles, self.most_cycles))
        run.ended = run.ended and bool(port.read(AP_CTRL) & DONE)
        port.write(AP_CTRL, CONTINUE)
        port.write(ISR, port.read(ISR))
        status = self.manifest.status
        run.status = port.read(status.offset) if status else 0
        run.watched = {name: port.read(offset) for name, offset in self._watched.items()}
        for register in self.manifest.results():
            words = [port.read(register.offset + 4 * i) for i in range(register.word_count)]
            run.results[register.name] = sum(word << 32 * i for i, word in enumerate(words)) & (1 << register.width) - 1
        port.run_idle(64)

    def _wait(self, port: Port, run: TrialRun, cycles: int) -> tuple[int, bool]:
        """Wait for the interrupt, `CYCLES` at a time: how long, and whether it came."""
        taken = 0
        while True:
            began = len(port.trace().cycles)
            ended = port.interrupt(min(CYCLES, cycles - taken))
            taken += len(port.trace().cycles) - began
            if ended or taken >= cycles:
                return taken, ended
            self._see(port.trace().cycles, run)
            port.drop_trace()
            if taken % (8 * CYCLES) == 0:
                self._progress(f"{taken} cycles of its trial so far")

    def _see(self, cycles: Any, run: TrialRun) -> None:
        """What was asked of memory, by the argument at whose place it lies."""
        for way in ("ar", "aw"):
            asked = cycles[cycles[f"m_axi_{way}valid"] != 0]
            if not len(asked):
                continue
            first = asked[f"m_axi_{way}addr"].astype(np.int64)
            size = 1 << asked[f"m_axi_{way}size"].astype(np.int64)
            end = first // size * size + size * (asked[f"m_axi_{way}len"].astype(np.int64) + 1)
            for start, stop, port in sorted(
                set(zip(first.tolist(), end.tolist(), asked[f"m_axi_{way}id"].tolist(), strict=True))
            ):
                self._note(run, start, stop, port, way == "aw")

    def _note(self, run: TrialRun, start: int, stop: int, port: int, write: bool) -> None:
        number, offset = divmod(start - PLACE, SPACE)
        if not 0 <= number < len(self.inputs):
            run.astray = start if run.astray is None else run.astray
            return
        touched = run.touched.setdefault(self.inputs[number].name, Touched())
        touched.ports.add(port)
        reach = offset + stop - start
        if write:
            touched.written = max(touched.written, reach)
        else:
            touched.read = max(touched.read, reach)


def _fit(register: ArgumentRegister, scalars: Mapping[str, int]) -> int:
    return scalars.get(register.name, 0) & (1 << register.width) - 1


def find_pointers(trial: KernelTrial, candidates: Sequence[str], given: Mapping[str, int]) -> tuple[str, ...]:
    """Which of some arguments are addresses: those at whose place something is asked for, all at once or one by one."""
    sizes = [{**{register.name: size for register in trial.inputs}, **given} for size in POINTER_SIZES]
    seen: set[str] = set()
    for others in sizes:
        run = trial.run(candidates, others)
        seen |= set(run.touched)
        if run.ended and run.touched:
            break
    if seen < set(candidates):
        seen |= set(trial.run(candidates, sizes[0], seed=2, most=255).touched)
    for others in sizes:
        seen = seen or {name for name in candidates if name in trial.run((name,), others).touched}
    return tuple(register.name for register in trial.inputs if register.name in seen)


def find_run(trial: KernelTrial, pointers: Sequence[str], given: Mapping[str, int]) -> TrialRun:
    """A run that comes to its end and reaches every address, with the values given and small sizes for the others.

    Raises:
        InvalidRequest: There is none; says how far the best one came and what to do.
    """
    scalars = [register.name for register in trial.inputs if register.name not in pointers]
    runs: list[TrialRun] = []
    for size in SIZES if set(scalars) - set(given) else SIZES[:1]:
        runs.append(trial.run(pointers, {**dict.fromkeys(scalars, size), **given}))
        if runs[-1].merits(pointers)[:4] == (True, True, True, len(pointers)):
            break
    best = max(runs, key=lambda run: run.merits(pointers))
    # One that ended and did nothing says less than one that takes longer: as that which reached the most addresses,
    # of several alike the first, then that of the smallest sizes.
    further = [
        run for run in runs if not run.ended and (not best.ended or run.reached(pointers) > best.reached(pointers))
    ]
    most = max((run.reached(pointers) for run in further), default=0)
    alike = [run for run in further if run.reached(pointers) == most]
    for shorter in (alike[:1], sorted(alike[1:], key=lambda run: sum(run.values[name] for name in scalars))[:1]):
        for run in shorter:
            longer = trial.run(pointers, {name: run.values[name] for name in scalars}, cycles=trial.longest)
            if longer.ended or not best.ended:
                best = longer
        if best.ended and best.reached(pointers) >= most:
            break
    if not best.ended:
        raise InvalidRequest(_endless(best, trial.longest), field="set")
    other = trial.run(pointers, best.values, seed=2, most=255, cycles=max(CYCLES, 2 * best.cycles))
    for name, touched in other.touched.items():
        known = best.touched.setdefault(name, Touched())
        known.read, known.written = max(known.read, touched.read), max(known.written, touched.written)
        known.ports |= touched.ports
    if best.cycles <= CYCLES:
        slower = trial.run(pointers, best.values, cycles=8 * max(CYCLES, best.cycles), pause=0.5)
        best.timed = measured(best, slower, other)
    return best


def measured(run: TrialRun, slower: TrialRun, other: TrialRun) -> set[str]:
    """What measures time: all that differs of a run with slower memory is words that are larger there, by no more than
    it took longer; and none follows from what the kernel is given: with other data each differs by no more than these
    runs do in length, and the kernel does not read the buffer. What differs otherwise is a fault, which the check
    finds."""
    longer, apart = slower.cycles - run.cycles, abs(other.cycles - run.cycles)
    if not (run.ended and slower.ended and other.ended) or longer <= 0:
        return set()
    found = {
        name
        for name, value in run.results.items()
        if 0 < slower.results[name] - value <= longer and abs(other.results[name] - value) <= apart
    }
    for name in run.left:
        if run.touched[name].read or len({len(each.left.get(name, b"")) for each in (run, slower, other)}) > 1:
            continue
        usual, paused, changed = (_words(each, name, (run, slower, other)) for each in (run, slower, other))
        more = (paused - usual)[paused != usual]
        if len(more) and (more > 0).all() and (more <= longer).all() and (abs(changed - usual) <= apart).all():
            found.add(name)
    return found


def _words(run: TrialRun, name: str, runs: Sequence[TrialRun]) -> Any:
    """The words that a run left at an argument's place; zeros for the bytes that no run changed there."""
    left = np.frombuffer(run.left[name], "u1")
    changed = np.any(
        [np.frombuffer(each.left[name], "u1") != np.frombuffer(each.found[name], "u1") for each in runs], 0
    )
    return np.where(changed, left, 0).astype("u1").view("<u4").astype(np.int64)


def _endless(run: TrialRun, longest: int) -> str:
    at = f"; it asked for memory at {run.astray:#x}, which is no argument's" if run.astray is not None else ""
    return (
        f"the kernel does not end within {CYCLES} cycles, whatever its scalars are (tried: {', '.join(map(str, SIZES))}"
        f" for all), nor within {longest} with those of the best{at}. Say what they are, as --set NAME=VALUE,"
        " for a short run, or that it takes longer, as --cycles N; or it waits for what a slot has not"
    )
