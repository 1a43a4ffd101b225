# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy_slowdown`: progress from a queueing model of cores and memory, fitted to what an epoch counted.

HSM ([001]) takes a kernel to be bound by cores or by memory, progress to be linear in cores until it saturates, and
misses to be the same alone. This model is made for where that fails: kernels that wait for memory without filling it,
kernels near saturation, and kernels that others' lines drive out of the shared cache.

A core works g cycles for each read it asks for, and has N reads under way at most; N follows from what was counted
(J. D. C. Little, Operations Research 9, 1961). A read takes L cycles where the memory is idle and waits W more where it
is loaded. So a core asks for a read every ``(g^8 + ((L + W) / N)^8)^(1/8)`` cycles, close to the larger of both. The
memory, of which each tenant can have a part by its row hits and stores, is loaded by all reads that miss, and W follows
from the load as in a queue. Alone, the same equations have one tenant, all cores, and hits by its own tags.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from eddy.model import queue_compiled
from eddy.model.progress import ClusterEpoch, ProgressCurve, has_counts, linear_curve
from eddy.model.slowdown import SharedRunCounters, predict

Floats = npt.NDArray[np.float64]
_MAX_WAITING = 256.0
"""Reads of a core under way, where cores never waited so that it cannot be known."""
_STEPS = 16
"""Halvings of the interval in which the memory's load lies."""
_MIN_SUPPLY = 0.05


@dataclass(frozen=True, slots=True)
class QueueConstants:
    """What is learned of a board's memory; in cycles of the cores.

    Attributes:
        cache_cycles: A read that the shared cache has, from asking to data.
        memory_cycles: A read from idle memory.
        wait_cycles: W at half load: ``W = wait_cycles * load / (1 - load)``.
        supply_offset: Added to the utilisation that the law of HSM gives.
        store_cost: Utilisation lost where all requests are stores.
    """

    cache_cycles: float = 61.0
    memory_cycles: float = 120.0
    wait_cycles: float = 29.0
    supply_offset: float = 0.05
    store_cost: float = 0.12


@cache
def shipped_constants() -> QueueConstants:
    """Those that are shipped."""
    return QueueConstants(**json.loads((files("eddy.model") / "eddy_slowdown.json").read_text(encoding="utf-8")))


class _Tenant(NamedTuple):
    """A tenant as the queueing model has it, per read: work, reads under way, requests to memory, time unloaded.

    In the order in which the compiled loops take them.
    """

    work: float
    waiting: float
    requests: float
    idle_cycles: float
    supply: float
    instructions: float


@dataclass(frozen=True, slots=True)
class EddySlowdown:
    """The queueing model as a predictor.

    Attributes:
        name: As policies begin that rest on it.
        constants: Of the board's memory.
    """

    name: str = "eddy_slowdown"
    constants: QueueConstants = field(default_factory=shipped_constants)

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """Each tenant's, with the others in proportion on the cores that are left."""
        counted = [(index, each) for index, each in enumerate(epoch.tenants) if each is not None and has_counts(each)]
        present, shared = [index for index, _ in counted], [each for _, each in counted]
        wait = self._wait_counted(shared, epoch)
        tenants = [self._tenant(each, epoch, wait, own=False) for each in shared]
        curves: list[ProgressCurve | None] = [None] * len(epoch.tenants)
        asked = [each if each is not None else _NOBODY for each in tenants]
        speeds = _speeds_of_all(asked, [each.cores for each in shared], epoch.machine.cores, self.constants)
        for index, (sharing, tenant) in enumerate(zip(shared, tenants, strict=True)):
            curves[present[index]] = self._curve(sharing, tenant, index, speeds, epoch, wait)
        return tuple(curves)

    def _curve(
        self,
        sharing: SharedRunCounters,
        tenant: _Tenant | None,
        index: int,
        speeds: _Curves,
        epoch: ClusterEpoch,
        wait: float,
    ) -> ProgressCurve:
        cores = epoch.machine.cores
        most = cores if sharing.groups is None else max(min(cores, sharing.groups), 1)
        own = self._tenant(sharing, epoch, wait, own=True)
        alone, seen, modelled = (0.0, 0.0, []) if own is None else speeds.of(index, most, own)
        if tenant is None or alone <= 0:  # it reads nothing that could take longer
            return linear_curve(min(sharing.cores / most, 1.0), sharing.cores, cores, most)
        progress = min(sharing.instructions / sharing.cycles / alone, 1.0)
        factor = progress / seen if seen > 0 else 1 / alone
        curve = tuple([reached if (reached := each * factor) < 1.0 else 1.0 for each in accumulate(modelled, max)])
        return ProgressCurve(progress, curve, predict(sharing, epoch.machine, epoch.law).memory_bound)

    def _tenant(self, sharing: SharedRunCounters, epoch: ClusterEpoch, wait: float, own: bool) -> _Tenant | None:
        """The tenant per read, with hits of its own tags or as they were; None where it read nothing."""
        reads = sharing.cache_hits + sharing.cache_misses
        if reads <= 0:  # no cache that counts: every request is a read of memory
            reads = sharing.requests
        if reads < 1:
            return None
        c = self.constants
        hits = max(sharing.own_cache_hits, sharing.cache_hits) if own else sharing.cache_hits
        stores = max(sharing.requests - (reads - sharing.cache_hits), 0.0)
        misses = reads - hits
        time = sharing.cores * sharing.cycles / reads
        work = max(time - sharing.memory_stall_cycles / reads, 1e-9)
        took = sharing.read_cycles / reads if sharing.read_cycles else _idle(sharing.cache_hits / reads, c) + wait
        idled = time**8 - work**8
        waiting = took / idled ** (1 / 8) if idled > 0 else _MAX_WAITING
        asked = misses + stores
        used = epoch.law.utilisation(sharing.hit_rate) + c.supply_offset - c.store_cost * stores / max(asked, 1e-9)
        peak = epoch.law.peak_bytes_per_s / (epoch.machine.clock_hz * epoch.machine.request_bytes)
        return _Tenant(
            work,
            min(waiting, _MAX_WAITING),
            asked / reads,
            _idle(hits / reads, c),
            peak * min(max(used, _MIN_SUPPLY), 1.0),
            sharing.instructions / reads,
        )

    def _wait_counted(self, shared: list[SharedRunCounters], epoch: ClusterEpoch) -> float:
        """W of the epoch by the requests that were served, for boards that do not count how long reads took."""
        peak = epoch.law.peak_bytes_per_s / (epoch.machine.clock_hz * epoch.machine.request_bytes)
        load = sum(
            each.requests / each.cycles / (peak * max(epoch.law.utilisation(each.hit_rate), _MIN_SUPPLY))
            for each in shared
        )
        load = min(load, 0.98)
        return self.constants.wait_cycles * load / (1 - load)


_NOBODY = _Tenant(1.0, 1.0, 0.0, 0.0, 1.0, 1.0)


class _Curves(Protocol):
    """Speeds of tenants that share a cluster, by number of cores: alone, as all are, and on 0, 1, ... cores."""

    def of(self, index: int, most: int, own: Sequence[float]) -> tuple[float, float, list[float]]: ...


@dataclass(frozen=True, slots=True)
class _NumpyCurves:
    """Where nothing compiled runs: as `queue_compiled.Curves`."""

    tenants: list[_Tenant]
    had: list[float]
    cores: int
    constants: QueueConstants

    def of(self, index: int, most: int, own: Sequence[float]) -> tuple[float, float, list[float]]:
        alone = float(_speeds([_Tenant(*own)], np.array([[float(most)]]), self.constants)[0, 0])
        counts = np.minimum(np.arange(self.cores + 1.0), most)
        rest = np.delete(np.array(self.had), index)
        left = np.outer(self.cores - counts, rest / rest.sum() if rest.sum() > 0 else rest)
        together = np.insert(left, index, counts, axis=1)
        speeds = _speeds(self.tenants, np.vstack([together, self.had]), self.constants)[:, index]
        return alone, float(speeds[-1]), list(speeds[:-1].tolist())


def _speeds_of_all(tenants: list[_Tenant], had: list[float], cores: int, constants: QueueConstants) -> _Curves:
    """Compiled where that runs and has room."""
    if queue_compiled.LIBRARY is None or len(tenants) > queue_compiled.MAX_TENANTS:
        return _NumpyCurves(tenants, had, cores, constants)
    return queue_compiled.Curves(tenants, had, cores, constants.wait_cycles)


def _idle(hit_rate: float, constants: QueueConstants) -> float:
    return hit_rate * constants.cache_cycles + (1 - hit_rate) * constants.memory_cycles


def _speeds(tenants: list[_Tenant], cores: Floats, constants: QueueConstants) -> Floats:
    """Instructions a cycle of each tenant with so many cores; (cases, tenants).

    The load is the number in [0, 1) that the reads asked for at that load bring about.
    """
    work = np.array([t.work for t in tenants]) ** 8
    waiting, idle = np.array([t.waiting for t in tenants]), np.array([t.idle_cycles for t in tenants])
    weight = np.array([t.requests / t.supply for t in tenants])
    low, high = np.zeros(len(cores)), np.ones(len(cores))
    for _ in range(_STEPS):
        load = (low + high) / 2
        wait = constants.wait_cycles * load / (1 - load)
        reads = cores / _eighth_root(work + ((idle + wait[:, None]) / waiting) ** 8)
        more = reads @ weight > load
        low, high = np.where(more, load, low), np.where(more, high, load)
    reads = cores / _eighth_root(work + ((idle + (constants.wait_cycles * low / (1 - low))[:, None]) / waiting) ** 8)
    return np.asarray(reads * np.array([t.instructions for t in tenants]))


def _eighth_root(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sqrt(np.sqrt(values))))
