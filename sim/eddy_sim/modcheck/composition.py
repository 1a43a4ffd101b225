# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Self-composition: a module with different pasts must be one and the same to whoever comes next.

Several instances of a module get different pasts: none at all, none but random values in whatever the source gives no
initial one, and different secrets. Each is then cleared as the swap clears it, and does the next tenant's work. Every
output of every cycle must be what the first instance shows. Ref: Barthe, D'Argenio, Rezk, "Secure information flow by
self-composition", CSFW 2004; the outputs of a cycle include when it comes, so time is compared as data is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ModuleKind, ModuleManifest

from eddy_sim.modcheck import cluster_work, work
from eddy_sim.modcheck.literals import Literal, literals
from eddy_sim.modcheck.model import UP_RECORD, Model, ModuleInstance, OutputTrace, build_checked, payload_valid, sources
from eddy_sim.modcheck.outcome import RunOutcome
from eddy_sim.modcheck.port import Memory, ModuleUnresponsive, Port
from eddy_sim.modcheck.work import TenantWork
from eddy_sim.tools.products import Progress, ignore_progress

RESET_CYCLES = 8
"""Cycles of its clock a module is held in reset here; the swap holds it longer (`eddy.board.pynq.swap.HOLD_CYCLES`)."""
PASTS = 5
"""Different pasts a module is given, beside a fresh instance."""
RUNS_LOOKED_AT = 8
"""Jobs that are looked at after each earlier run."""
SAID_PASTS = 8
"""Pasts after which it is said how far the comparison is."""
TOGETHER = 8
"""Secrets that follow each other before a look: what survives a reset survives them together, too."""


@dataclass(frozen=True)
class Leak:
    """How a past shows.

    Attributes:
        past: What was done before.
        look: What the next tenant did.
        during: What of that it was at.
        cycle: Cycle of its work, from the end of the reset.
        signal: The output that differs.
        found: What it is.
        wanted: What it is without that past.
    """

    past: str
    look: str
    during: str
    cycle: int
    signal: str
    found: int
    wanted: int

    def __str__(self) -> str:
        at = f" ({self.during})" if self.during else ""
        return (
            f"after {self.past}: in cycle {self.cycle} of {self.look}{at}, {self.signal} is {self.found:#x};"
            f" without that past it is {self.wanted:#x}"
        )


@dataclass(frozen=True)
class Verdict:
    """What was found.

    Attributes:
        build: Build hash of the module, 16 hex digits.
        leak: The first difference, or None where there is none.
        secrets: Pieces of secret work that were done.
        looks: Comparisons of whole traces.
        cycles: Clock cycles compared.
    """

    build: str
    leak: Leak | None
    secrets: int
    looks: int
    cycles: int


@dataclass(frozen=True)
class RunVerdict:
    """What earlier runs do to later ones.

    Attributes:
        leak: How a later run is wrong for it: other results, other accesses, no end; None where none is.
        unusual: How a later run that is right differs: in its time; None where none does.
    """

    leak: Leak | None
    unusual: Leak | None


def compare(past: str, look: str, found: OutputTrace, wanted: OutputTrace) -> Leak | None:
    """The first difference between two traces of the same work; None where there is none."""
    length = min(len(found.cycles), len(wanted.cycles))
    first: tuple[int, str] | None = None
    # Of signals that differ in the same cycle, one that says that something happens comes first.
    for name in sorted(UP_RECORD.names, key=payload_valid):
        differs = np.flatnonzero(found.cycles[name][:length] != wanted.cycles[name][:length])
        if len(differs) and (first is None or differs[0] < first[0]):
            first = int(differs[0]), name
    if first is None:
        return None
    cycle, name = first
    during = next((what for at, what in reversed(wanted.marks) if at <= cycle), "")
    values = int(found.cycles[name][cycle]), int(wanted.cycles[name][cycle])
    return Leak(past, look, during, cycle, name, *values)


class Composition:
    """The pasts and looks of one module.

    Args:
        model: Its code.
        looks: What the next tenant may do.
        secrets: From a seed to what tenants did before.
        literals: Numbers that all of them find in memory.
    """

    def __init__(
        self,
        model: Model,
        looks: Sequence[TenantWork],
        secrets: Callable[[int], Sequence[TenantWork]],
        literals: tuple[Literal, ...] = (),
    ) -> None:
        self._model, self._looks, self._secrets, self._literals = model, looks, secrets, literals
        self._wanted: dict[str, OutputTrace] = {}
        self.done = self.looked = self.cycles = 0

    def leaks(self, progress: Progress = ignore_progress, pasts: int = PASTS) -> Iterator[Leak]:
        """Every difference that is found, the first of each look at each past."""
        fresh = Port(ModuleInstance(self._model))
        for name, trace in self._traces(fresh, lambda: fresh.reset(RESET_CYCLES, Memory(0))):
            self._wanted[name] = trace
        for number, (past, port, clear) in enumerate(self._pasts(pasts), start=1):
            if number % SAID_PASTS == 0:
                progress(f"{number} pasts compared, {self.cycles} cycles of the module")
            for look, found in self._traces(port, clear):
                self.looked += 1
                self.cycles += len(found.cycles)
                leak = compare(past, look, found, self._wanted[look])
                if leak is not None:
                    yield leak

    def between_runs(self, manifest: ModuleManifest) -> RunVerdict:
        """What an accelerator's earlier runs do to later ones, nothing but a start between them.

        A later run that is right and ends, only at another time, is unusual; so is what it measured of that time.
        """
        jobs = work.single_runs(manifest, _values(self._literals))
        fresh = Port(ModuleInstance(self._model))
        fresh.reset(RESET_CYCLES, Memory(0))
        work.settle(fresh, manifest)
        begin = fresh.instance.save()
        wanted = dict(self._outcomes(fresh, begin, jobs))
        slower = dict(self._outcomes(fresh, begin, work.slowed(jobs)))
        unusual: Leak | None = None
        for past, job, found in self._after_runs(manifest, jobs):
            self.looked += 1
            leak = compare(past, job, found.trace, wanted[job].trace)
            if leak is None:
                continue
            if not found.is_right(wanted[job], slower[job]):
                return RunVerdict(leak, unusual)
            unusual = unusual or leak
        return RunVerdict(None, unusual)

    def _after_runs(
        self, manifest: ModuleManifest, jobs: Sequence[TenantWork]
    ) -> Iterator[tuple[str, str, RunOutcome]]:
        """Each past, each job that comes after it, and what that leaves."""
        port = Port(ModuleInstance(self._model, 1))
        port.reset(RESET_CYCLES, Memory(0))
        secrets = list(work.directed(manifest, random.Random(1), _values(self._literals)))
        for secret in random.Random(2).sample(secrets, min(len(secrets), work.MOST_DIRECTED)):
            with contextlib.suppress(ModuleUnresponsive):
                self._leave(port, secret)
                if work.settle(port, manifest):
                    for job, found in self._outcomes(port, port.instance.save(), jobs[:RUNS_LOOKED_AT]):
                        yield f"a run ({secret.name})", job, found
            port.reset(RESET_CYCLES, Memory(0))

    def _outcomes(
        self, port: Port, clear: Callable[[], None], jobs: Sequence[TenantWork]
    ) -> Iterator[tuple[str, RunOutcome]]:
        for name, trace in self._traces(port, clear, jobs):
            yield name, RunOutcome(trace, {number: bytes(page) for number, page in port.memory.pages.items()})

    def _pasts(self, count: int) -> Iterator[tuple[str, Port, Callable[[], None]]]:
        """Each past's name, a module that has it, and what clears it again and again as it was."""
        for seed in (1, 2):
            port = Port(ModuleInstance(self._model, seed))
            yield f"other values at power-on (seed {seed})", port, _reset_once(port)
        for seed in range(1, count + 1):
            secrets = list(self._secrets(seed))
            port = Port(ModuleInstance(self._model, seed))
            for first in range(0, len(secrets), TOGETHER):
                chosen = secrets[first : first + TOGETHER]
                for number, secret in enumerate(chosen):
                    # Some follow a run that never ends or was cut off, others find the module ready for their own.
                    if number == 0 or seed % 2:
                        port.reset(RESET_CYCLES, Memory(0))
                    self._leave(port, secret)
                yield "; ".join(secret.name for secret in chosen), port, _reset_once(port)

    def _leave(self, port: Port, secret: TenantWork) -> None:
        self.done += 1
        port.memory = self._unwritten(secret.memory)
        port.pause(0.0)
        with contextlib.suppress(ModuleUnresponsive):
            secret.run(port)

    def _unwritten(self, memory: Memory) -> Memory:
        return dataclasses.replace(memory, pages={}, literals=self._literals)

    def _traces(
        self, port: Port, clear: Callable[[], None], looks: Sequence[TenantWork] = ()
    ) -> Iterator[tuple[str, OutputTrace]]:
        for look in looks or self._looks:
            clear()
            port.begin(self._unwritten(look.memory))
            with contextlib.suppress(ModuleUnresponsive):
                look.run(port)
            yield look.name, port.trace()


def _reset_once(port: Port) -> Callable[[], None]:
    """Reset now, and answer what brings that very moment back."""
    port.reset(RESET_CYCLES, Memory(0))
    return port.instance.save()


def check_scrub(path: Path, progress: Progress = ignore_progress, pasts: int = PASTS) -> Verdict:
    """Whether a reset leaves nothing in a module that whoever comes next could tell.

    Args:
        path: The module's manifest, or the folder that holds it.
        progress: Told what is being built, and how far it is.
        pasts: How many different ones a module is given, beside a fresh instance.

    Raises:
        BuildFailed: It does not compile; the message holds what the compiler said.
    """
    _, composition, build_hash = prepare(path, progress)
    leak = next(composition.leaks(progress, pasts), None)
    return Verdict(f"{build_hash:016x}", leak, composition.done, composition.looked, composition.cycles)


def check_runs(path: Path, progress: Progress = ignore_progress) -> RunVerdict:
    """Whether a start alone leaves nothing in an accelerator of the run before.

    Raises:
        BuildFailed: It does not compile; the message holds what the compiler said.
    """
    manifest, composition, _ = prepare(path, progress)
    return composition.between_runs(manifest)


def prepare(path: Path, progress: Progress) -> tuple[ModuleManifest, Composition, int]:
    """A module's manifest, what is to be compared, and its build hash."""
    path = path / "manifest.yaml" if path.is_dir() else path
    manifest = load_module_manifest(path)
    program, build_hash = build_checked(path.resolve(), progress)
    numbers = literals(sources(path.resolve()))
    if manifest.kind is ModuleKind.GPU:
        looks, secrets = cluster_work.looks(manifest), partial(cluster_work.secrets, manifest)
    else:
        values = _values(numbers)
        looks, secrets = work.looks(manifest, values), partial(work.secrets, manifest, values=values)
    return manifest, Composition(Model(program), looks, secrets, numbers), build_hash


def _values(numbers: Sequence[Literal]) -> tuple[int, ...]:
    """What an argument can hold of them."""
    return tuple(sorted({number.value for number in numbers if number.value < 1 << 32}))
