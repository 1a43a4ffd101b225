# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Trial slices: what a kernel does on a kind of cluster it never ran on is measured, not guessed for ever.

Shares follow what is known of a tenant's kernels. Where a kernel never ran, a guess stands in, and one that is too low
keeps its tenant from where it would be measured. So a kernel that has not begun, and was measured on another kind of
cluster, first runs a slice of about a quantum on the kind that is not known, whatever its tenant's share there; then it
begins again where its shares are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.policy.price.kernel_places import add_trial, can_afford_trial, trial_ends


class ClusterTrials:
    """Which kernels are on trial, and what trials took.

    Args:
        loop: What is known of kernels, and what tenants had.
        queues: Kernels that have not ended.
    """

    def __init__(self, loop: PriceLoop, queues: KernelQueues) -> None:
        self._loop, self._queues = loop, queues
        self._took_s: dict[str, float] = {}
        """By tenant: what its trials took, as `add_trial` counts it."""

    def place(self, job: Job, slots: Iterable[MachineSlot]) -> MachineSlot | None:
        """The cluster a kernel that has not begun is to be tried on first; None for none, as for a session's launch,
        which cannot begin again.

        Args:
            job: It waits for a cluster.
            slots: Those with clusters that may run kernels of others, by index.
        """
        spread = job.spec.spread
        assert spread is not None
        learned, held = self._loop.estimates.learned, list(slots)
        known = {m for m in spread.variants if learned.peek(spread.kernel, m).group_s is not None}
        if not job.spec.kept or not known or not self._affords(job.spec.tenant):
            return None
        return next((s for s in held if s.module in spread.variants and s.module not in known), None)

    def due_kernels(self, slot: int) -> Iterator[Job]:
        """Kernels that are to get a core of a cluster before anybody else does, for one slice."""
        return self._queues.trial_kernels(slot)

    def record_trial(self, tenant: str, took_s: float) -> None:
        """A slice on trial ended."""
        before_s, quantum_s = self._took_s.get(tenant, 0.0), self._loop.settings.quantum_s
        self._took_s[tenant] = add_trial(before_s, self._delivered_s(tenant), quantum_s, took_s)

    def is_trial_over(self, took_s: float, whole_s: float) -> bool:
        """Whether a slice that took so long ends the trial, of which all slices took so long together."""
        return trial_ends(took_s, whole_s, self._loop.settings.quantum_s)

    def _delivered_s(self, tenant: str) -> float:
        """Core-seconds that a tenant had."""
        return sum(account.delivered_s.get(tenant, 0.0) for account in self._loop.accounts.values())

    def _affords(self, tenant: str) -> bool:
        """Whether no kernel of a tenant is on trial, and its trials took little of what it had."""
        spent_s = self._took_s.get(tenant, 0.0)
        return not self._queues.has_trial(tenant) and can_afford_trial(spent_s, self._delivered_s(tenant))
