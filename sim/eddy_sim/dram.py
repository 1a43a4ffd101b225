"""The memory model alone, driven by bursts from Python: for its tests, and to see what a timing does."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from eddy.board.profile import Dram
from eddy.core.errors import InvalidRequest

from eddy_sim import build

STARVATION_BURSTS = 16
"""How many later bursts may overtake one."""


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
    )


class DramStatistics(ctypes.Structure):
    """What the memory has served: bytes, and bursts by what their row cost; `longest_bypass` in bursts."""

    _fields_ = _words(
        "read_bytes", "write_bytes", "row_hits", "row_misses", "row_conflicts", "refused", "longest_bypass"
    )


class _Burst(ctypes.Structure):
    _fields_ = _words("address", "beats", "id", "write", "not_before", "done", "place")


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst to ask for: physical address, 64-bit beats, AXI id, direction, first shell cycle it may be asked in."""

    address: int
    beats: int
    id: int = 0
    write: bool = False
    not_before: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How it went: cycles until all was answered; for each burst the cycle of its last answer and its place."""

    cycles: int
    done: tuple[int, ...]
    place: tuple[int, ...]
    statistics: DramStatistics


def dram_parameters(dram: Dram, refi_ns: float = 0.0, rfc_ns: float = 0.0) -> DramParameters:
    """Parameters of the memory model from a profile's; without refresh where not given.

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
        starvation=STARVATION_BURSTS,
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
    rows = [_Burst(b.address, b.beats, b.id, b.write, b.not_before, 0, 0) for b in bursts]
    table = (_Burst * len(bursts))(*rows)
    statistics = DramStatistics()
    cycles = library.eddy_dram_probe(
        ctypes.byref(parameters),
        ctypes.c_void_p(memory.ctypes.data),
        ctypes.c_uint64(round(1e15 / clk_hz)),
        table,
        ctypes.c_uint64(len(bursts)),
        ctypes.c_uint64(bound_cycles),
        ctypes.byref(statistics),
    )
    if not cycles:
        raise TimeoutError(f"the memory did not answer {len(bursts)} bursts within {bound_cycles} cycles")
    return ProbeResult(cycles, tuple(b.done for b in table), tuple(b.place for b in table), statistics)
