# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory model alone, driven by bursts from Python: for its tests, and to see what a timing does."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from eddy.board.port.dram_map import UNIT_BITS, hash_masks
from eddy.board.port.profile import SCHEDULING, Dram
from eddy.core.errors import InvalidRequest

from eddy_sim.design import build

STARVATION_BURSTS = 16
"""How many later bursts may overtake one, where the controller holds no more than twice as many."""
USERS = 256
"""Slots and contexts that the controller tells apart: a user is 16 times the slot, and the context."""


def _words(*names: str) -> tuple[tuple[str, type[ctypes.c_uint64]], ...]:
    return tuple((name, ctypes.c_uint64) for name in names)


class DramParameters(ctypes.Structure):
    """Geometry and timing as the C++ side takes them: bytes, femtoseconds, bytes per second."""

    _fields_ = _words(
        "base",
        "bytes",
        "banks",
        "row_bytes",
        "rcd_fs",
        "rp_fs",
        "cl_fs",
        "ras_fs",
        "bytes_per_s",
        "refi_fs",
        "rfc_fs",
        "starvation",
        *("faw_fs", "wtr_fs", "rtw_fs", "channels", *(f"hash{bit}" for bit in range(UNIT_BITS))),
        *("queue", "hit_cap", "scheduling", "reorders", "port_bytes"),
    )


class DramStatistics(ctypes.Structure):
    """What the memory has served: bytes, and bursts by what their row cost; `longest_bypass` in bursts."""

    _fields_ = _words(
        "read_bytes", "write_bytes", "row_hits", "row_misses", "row_conflicts", "refused", "longest_bypass"
    )


class UserCounters(ctypes.Structure):
    """What the memory has served to one user: requests, bytes, and requests by whether their row was open."""

    _fields_ = _words("read_requests", "write_requests", "read_bytes", "write_bytes", "row_hits", "row_misses")


class ServedBurst(ctypes.Structure):
    """A line of the controller's log, in the order of service; `data_fs` is when its data began, modulo 2^64."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("data_fs", ctypes.c_uint64),
        ("user", ctypes.c_uint8),
        ("write", ctypes.c_uint8),
        ("hit", ctypes.c_uint8),
        ("id", ctypes.c_uint8),
        ("unused", ctypes.c_uint8 * 4),
    )


class _Burst(ctypes.Structure):
    _fields_ = _words("address", "beats", "id", "write", "user", "not_before", "done", "place")


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst to ask for: physical address, 64-bit beats, AXI id, direction, first shell cycle it may be asked in, and
    whose it is."""

    address: int
    beats: int
    id: int = 0
    write: bool = False
    not_before: int = 0
    user: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How it went: cycles until all was answered; for each burst the cycle of its last answer and its place; what each
    user was served, and in which order."""

    cycles: int
    done: tuple[int, ...]
    place: tuple[int, ...]
    statistics: DramStatistics
    users: tuple[UserCounters, ...]
    log: tuple[ServedBurst, ...]


def dram_parameters(dram: Dram, refi_ns: float = 0.0, rfc_ns: float = 0.0, port_bytes: int = 8) -> DramParameters:
    """Parameters of the memory model from a profile's, for a port with beats of so many bytes; without refresh where
    not given.

    Raises:
        InvalidRequest: The geometry is one the model does not have.
    """
    if dram.row_bytes < 4096 or dram.row_bytes & (dram.row_bytes - 1):
        raise InvalidRequest(
            f"a DRAM row has {dram.row_bytes} bytes; the memory model needs a power of two of at least 4096, so that "
            "no AXI burst meets two rows",
            field="dram.row_bytes",
        )

    def fs(ns: float) -> int:
        return round(ns * 10**6)

    return DramParameters(
        base=dram.base,
        bytes=dram.bytes,
        banks=dram.banks,
        row_bytes=dram.row_bytes,
        rcd_fs=fs(dram.rcd_ns),
        rp_fs=fs(dram.rp_ns),
        cl_fs=fs(dram.cl_ns),
        ras_fs=fs(dram.ras_ns),
        bytes_per_s=round(dram.bytes_per_s),
        refi_fs=fs(refi_ns),
        rfc_fs=fs(rfc_ns),
        starvation=max(STARVATION_BURSTS, dram.queue_bursts // 2),
        faw_fs=fs(dram.faw_ns),
        wtr_fs=fs(dram.wtr_ns),
        rtw_fs=fs(dram.rtw_ns),
        channels=dram.channels,
        **{f"hash{bit}": mask for bit, mask in enumerate(hash_masks(dram))},
        queue=dram.queue_bursts,
        hit_cap=dram.row_hit_cap,
        scheduling=SCHEDULING.index(dram.scheduling),
        reorders=dram.reorders,
        port_bytes=port_bytes,
    )


def probe(
    parameters: DramParameters,
    bursts: Sequence[Burst],
    memory: npt.NDArray[np.uint8],
    clk_hz: float = 100e6,
    bound_cycles: int = 10_000_000,
) -> ProbeResult:
    """Ask the memory for bursts, in order for each direction, as fast as it takes them.

    Every beat of a written burst carries the burst's index. `memory` is the whole memory, from its base on.

    Raises:
        TimeoutError: Not all was answered within the bound.
    """
    library = ctypes.CDLL(str(build.build_board()))
    library.eddy_dram_probe.restype = ctypes.c_uint64
    rows = [_Burst(b.address, b.beats, b.id, b.write, b.user, b.not_before, 0, 0) for b in bursts]
    table = (_Burst * len(bursts))(*rows)
    statistics, users, log = DramStatistics(), (UserCounters * USERS)(), (ServedBurst * len(bursts))()
    cycles = library.eddy_dram_probe(
        ctypes.byref(parameters),
        ctypes.c_void_p(memory.ctypes.data),
        ctypes.c_uint64(round(1e15 / clk_hz)),
        table,
        ctypes.c_uint64(len(bursts)),
        ctypes.c_uint64(bound_cycles),
        ctypes.byref(statistics),
        users,
        log,
    )
    if not cycles:
        raise TimeoutError(f"the memory did not answer {len(bursts)} bursts within {bound_cycles} cycles")
    return ProbeResult(
        cycles, tuple(b.done for b in table), tuple(b.place for b in table), statistics, tuple(users), tuple(log)
    )
