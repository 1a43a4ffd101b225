"""Trial slices: what a kernel does on a kind of cluster it never ran on is measured, not guessed for ever.

Shares follow what is known of a tenant's kernels. Where a kernel never ran, a guess stands in, and one that is too low
keeps its tenant from where it would be measured. So a kernel that has not begun, and was measured on another kind of
cluster, first runs a slice of about a quantum on the kind that is not known, whatever its tenant's share there; then it
begins again where its shares are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eddy.hypervisor.job import Job
from eddy.hypervisor.kernel_queues import KernelQueues
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.slot import MachineSlot

MOST = 0.01
"""Part of a tenant's core-seconds that its trials may have taken before another begins, whatever it submits."""
SAVED = 8.0
"""Quanta of trials that a tenant may have saved up at most: what it had long ago gives it no core today."""
LONG = 0.5
"""Quanta that a slice takes which says how fast a kernel is; what a shorter one takes is mostly its start."""
ENOUGH = 2.0
"""Quanta after which a trial ends though no slice was long: work-groups or a time limit can keep every slice short."""


class ClusterTrials:
    """Which kernels are on trial, and what trials took.

    Args:
        loop: What is known of kernels, and what tenants had.
        queues: Kernels that have not ended.
    """

    def __init__(self, loop: PriceLoop, queues: KernelQueues) -> None:
        self._loop, self._queues = loop, queues
        self._took_s: dict[str, float] = {}
        """By tenant: what its trials took, and what it saved up beyond `SAVED`."""

    def place(self, job: Job, slots: Iterable[MachineSlot]) -> MachineSlot | None:
        """The cluster a kernel that has not begun is to be tried on first; None for none.

        Args:
            job: It waits for a cluster.
            slots: Those with clusters that may run kernels of others, by index.
        """
        spread = job.spec.spread
        assert spread is not None
        learned, held = self._loop.estimates.learned, list(slots)
        known = {m for m in spread.variants if learned.look(spread.kernel, m).group_s is not None}
        if not known or not self._affords(job.spec.tenant):
            return None
        return next((s for s in held if s.module in spread.variants and s.module not in known), None)

    def due(self, slot: int) -> Iterator[Job]:
        """Kernels that are to get a core of a cluster before anybody else does, for one slice."""
        return self._queues.on_trial(slot)

    def ended(self, tenant: str, took_s: float) -> None:
        """A slice on trial ended."""
        saved_s = SAVED * self._loop.settings.quantum_s
        spent_s = max(self._took_s.get(tenant, 0.0), self._allowed_s(tenant) - saved_s)
        self._took_s[tenant] = spent_s + took_s

    def says_enough(self, took_s: float, whole_s: float) -> bool:
        """Whether a slice that took so long ends the trial, of which all slices took so long together."""
        quantum_s = self._loop.settings.quantum_s
        return took_s >= LONG * quantum_s or whole_s >= ENOUGH * quantum_s

    def _allowed_s(self, tenant: str) -> float:
        """What the trials of a tenant may have taken."""
        return MOST * sum(account.delivered_s.get(tenant, 0.0) for account in self._loop.accounts.values())

    def _affords(self, tenant: str) -> bool:
        """Whether no kernel of a tenant is on trial, and its trials took little of what it had."""
        return not self._queues.tries(tenant) and self._took_s.get(tenant, 0.0) < self._allowed_s(tenant)
