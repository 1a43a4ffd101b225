# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fast cluster model: runs kernels together on a machine, in C (`native/`), and says what was counted.

Everything is integer arithmetic on one flat state, so the same run gives the same numbers on every platform. The
shipped objects hold code only: no C library, no memory of their own.
"""

from __future__ import annotations

import ctypes
import os.path
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.core.errors import InvalidRequest

from eddy_studies.hsm.machine import TICKS, ClusterModel, Kernel

Ints = npt.NDArray[np.int64]

_COUNTERS = (
    *("instructions", "issue_ticks", "core_ticks", "requests", "row_hits", "writes", "cache_hits", "cache_misses"),
    *("read_ticks", "memory_ticks", "held_ticks", "own_row_hits", "shadow_hits", "shadow_looks", "groups", "rounds"),
    "reads",
)
_MAX_STORES = 16
"""`kLanding` of cluster.h."""


class _Kernel(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("gaps", "lines", "first")),
        *(
            (name, ctypes.c_int64)
            for name in ("groups", "window", "stores", "issue", "latency", "base", "moving", "launch")
        ),
        ("waits", ctypes.c_void_p),
    ]


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """What was counted of one tenant over a while; ticks are sixteenths of a cycle.

    Attributes:
        issue_ticks: Of cores that issued them.
        core_ticks: Of cores it had.
        requests: That reached the memory; `row_hits` and `writes` among them.
        row_hits: Found their row open.
        writes: Were stores.
        cache_hits, cache_misses: Reads by what the shared cache had.
        read_ticks: From asking to data, over all `reads`.
        memory_ticks: From the memory's queue to the last beat, over all requests.
        held_ticks: The memory served another tenant while something of this one waited there.
        own_row_hits: Hits if no other tenant had moved the rows.
        shadow_hits, shadow_looks: Of the sampled sets, with tags of its own.
        groups: Work-groups that ended.
        rounds: Times its last work-group began.
        reads: That were answered.
    """

    instructions: int
    issue_ticks: int
    core_ticks: int
    requests: int
    row_hits: int
    writes: int
    cache_hits: int
    cache_misses: int
    read_ticks: int
    memory_ticks: int
    held_ticks: int
    own_row_hits: int
    shadow_hits: int
    shadow_looks: int
    groups: int
    rounds: int
    reads: int

    @property
    def row_hit_rate(self) -> float:
        """Part of the requests that found their row open; 0 where nothing was asked for."""
        return self.row_hits / self.requests if self.requests else 0.0


def _object_name() -> str:
    machine = platform.machine().lower()
    return f"linux-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }.so"


@cache
def _library() -> Any:
    """The shipped object.

    Raises:
        InvalidRequest: None is shipped for this machine.
    """
    path = os.path.join(os.path.dirname(__file__), "native", _object_name())
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        message = f"The fast cluster model is compiled for Linux on x86-64 and aarch64, not for {sys.platform} on "
        raise InvalidRequest(f"{message}{platform.machine()}; run the study there.", field="platform") from error
    library.eddy_machine_bytes.restype = ctypes.c_int64
    for name in ("eddy_machine", "eddy_run"):
        getattr(library, name).restype = ctypes.c_int64
    library.eddy_counted.restype = None
    return library


class Cluster:
    """A machine with one kernel for each tenant.

    Args:
        machine: What it is made of.
        kernels: One a tenant.

    Raises:
        InvalidRequest: The machine is larger than the model has room for, or it does not run here.
    """

    def __init__(self, machine: ClusterModel, kernels: Sequence[Kernel]) -> None:
        library = _library()
        if machine.writes and any(kernel.stores > _MAX_STORES for kernel in kernels):
            message = f"The fast cluster model has room for {_MAX_STORES} stores under way of a core."
            raise InvalidRequest(message, field="stores")
        self.machine, self.kernels = machine, tuple(kernels)
        self._state = np.zeros(library.eddy_machine_bytes(), np.uint8)
        self._kernels = (_Kernel * len(kernels))(*(_kernel(k, i * machine.spacing) for i, k in enumerate(kernels)))
        parameters = _parameters(machine, len(kernels))
        if library.eddy_machine(self._at, ctypes.c_void_p(parameters.ctypes.data)):
            raise InvalidRequest(
                "The fast cluster model has room for 32 cores of 16 warps, 8 tenants, 16 channels of 64 banks with 256 "
                "entries, 16,384 sets of 16 ways, and 16,384 outstanding lines; the machine asked for is larger.",
                field="machine",
            )
        self.now = 0

    @property
    def _at(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._state.ctypes.data)

    def copy(self) -> Cluster:
        """The same machine in the same state, to go on by itself."""
        other = object.__new__(Cluster)
        other.machine, other.kernels, other._kernels, other.now = self.machine, self.kernels, self._kernels, self.now
        other._state = self._state.copy()
        return other

    def run(self, owners: Sequence[int], cycles: int) -> tuple[CounterTotals, ...]:
        """Run on for a while and say what was counted of each tenant in it.

        Args:
            owners: The tenant each core is to have, -1 for none; a core that has another is drained first.

        Raises:
            RuntimeError: The model ran out of its own room.
        """
        library = _library()
        wanted = np.asarray(owners, np.int64)
        if wanted.shape != (self.machine.cores,):
            raise InvalidRequest(f"there are {self.machine.cores} cores and owners for {len(wanted)}", field="owners")
        before = self.totals()
        self.now += cycles * TICKS
        kernels, owned = ctypes.byref(self._kernels), ctypes.c_void_p(wanted.ctypes.data)
        if library.eddy_run(self._at, kernels, owned, ctypes.c_int64(self.now)):
            raise RuntimeError("the fast cluster model ran out of room for events")
        after = self.totals()
        return tuple(CounterTotals(*row.tolist()) for row in after - before)

    def totals(self) -> Ints:
        """What was counted since the start; (tenants, counters)."""
        counters = np.empty((len(self.kernels), len(_COUNTERS)), np.int64)
        _library().eddy_counted(self._at, ctypes.c_void_p(counters.ctypes.data))
        return counters


def _kernel(kernel: Kernel, base: int) -> _Kernel:
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (kernel.gaps, kernel.lines, kernel.first))
    return _Kernel(
        *pointers,
        kernel.groups,
        kernel.window,
        kernel.stores,
        _ticks(kernel.issue),
        _ticks(kernel.latency),
        base,
        kernel.moving,
        kernel.launch,
        None if kernel.waits is None else ctypes.c_void_p(kernel.waits.ctypes.data),
    )


def _ticks(cycles: float) -> int:
    return round(cycles * TICKS)


def _parameters(machine: ClusterModel, tenants: int) -> Ints:
    m = machine.memory
    return np.array(
        [
            *(machine.cores, machine.warps, machine.fills, tenants),
            *map(_ticks, (machine.way, machine.port, machine.lookup, machine.hit, machine.change)),
            *(machine.sets, machine.ways, machine.shadow_every),
            *(m.channels, m.banks, m.row_lines, m.interleave_lines, int(m.hashed), m.queue, m.cap, m.starvation),
            *map(_ticks, (m.rcd, m.rp, m.cl, m.ras, m.faw, m.rrd, m.burst, m.turnaround)),
            *map(_ticks, (m.refresh_every, m.refresh, m.least_first)),
            *m.masks,
            *map(_ticks, (m.wtr, m.rtw)),
            *(m.overtakes, machine.writes, _ticks(machine.sends), int(machine.plain_sets)),
            *(_ticks(machine.forgets), int(machine.ordered)),
        ],
        np.int64,
    )
