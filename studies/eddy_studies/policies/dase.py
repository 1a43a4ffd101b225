# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""DASE, a white-box rival: slowdown from interference counted resource by resource.

Built after what [001] sections 1, 6 and 7 say of it (its [14]: Q. Hu, J. Shu, J. Fan, Y. Lu, ICPP 2016) and after the
accounting of interference it takes from processors ([35], [37], [38] there): time lost to others in the shared cache,
in row buffers and in banks and on the bus is added up, divided by how many requests are under way at once, and taken
off the time that passed. Progress on all cores follows in proportion to cores; a kernel that fills the memory gets,
alone, what all get together. [001] section 6 cuts predicted slowdowns at cores over cores had; where kernels fight for
bandwidth that is wrong, so it is a setting.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.model.progress import ClusterEpoch, ProgressCurve, has_counts, linear_curve
from eddy.model.slowdown import SharedRunCounters
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import ProgressQos
from eddy.policy.price.view import PricePolicy

BANDWIDTH_BOUND = 0.4
"""Used part of the peak from which a kernel that waits counts as one that fills the memory."""
WAITING = 0.1
"""Part of its core-cycles such a kernel spends waiting for memory."""


@dataclass(frozen=True, slots=True)
class Dase:
    """DASE.

    Attributes:
        name: As policies begin that rest on it.
        row_miss_cycles: A row miss costs more than a hit: closing one row and opening another.
        memory_cycles: A request that misses the shared cache takes longer than one that hits.
        cut: Whether predicted slowdowns are cut at cores over cores had ([001] section 6).
    """

    name: str = "dase"
    row_miss_cycles: float = 56.0
    memory_cycles: float = 60.0
    cut: bool = False

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """Each tenant's, from its own counters and what all moved together."""
        everything = sum(each.requests for each in epoch.tenants if each is not None and has_counts(each))
        return tuple(self._curve(each, epoch, everything) for each in epoch.tenants)

    def _curve(self, sharing: SharedRunCounters | None, epoch: ClusterEpoch, everything: float) -> ProgressCurve | None:
        if sharing is None or not has_counts(sharing):
            return None
        progress, bound = self._progress(sharing, epoch, everything)
        curve = linear_curve(progress, sharing.cores, epoch.machine.cores)
        return ProgressCurve(curve.progress, curve.by_cores, bound)

    def _progress(self, sharing: SharedRunCounters, epoch: ClusterEpoch, everything: float) -> tuple[float, bool]:
        machine = epoch.machine
        waited = sharing.memory_stall_cycles / (sharing.cores * sharing.cycles)
        peak = epoch.law.peak_bytes_per_s * sharing.cycles / (machine.clock_hz * machine.request_bytes)
        bound = waited > WAITING and everything > BANDWIDTH_BOUND * peak
        part = sharing.cores / machine.cores
        if bound and everything > 0:
            progress = sharing.requests / everything
        else:
            progress = part * (1 - waited + waited * self._undisturbed(sharing))
        return (max(progress, part) if self.cut else progress), bound

    def _undisturbed(self, sharing: SharedRunCounters) -> float:
        """Time of its memory accesses without others, over the time they took."""
        lost_rows = max(sharing.own_row_hits - sharing.row_hits, 0.0) * self.row_miss_cycles
        lost_lines = max(sharing.own_cache_hits - sharing.cache_hits, 0.0) * self.memory_cycles
        lost = sharing.held_cycles + (lost_rows + lost_lines) / parallelism(sharing)
        return max(1 - lost / sharing.cycles, 0.0)


def parallelism(sharing: SharedRunCounters) -> float:
    """Reads under way at once, at least 1: waits of requests that overlap are not waits of the kernel one by one."""
    return max(sharing.read_cycles / sharing.cycles, 1.0)


def fair() -> PricePolicy:
    """`dase_fair`."""
    return ProgressFair(Dase(), name="dase_fair")


def qos() -> PricePolicy:
    """`dase_qos`."""
    return ProgressQos(Dase(), name="dase_qos")
