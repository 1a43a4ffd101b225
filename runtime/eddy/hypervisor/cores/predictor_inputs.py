# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What predictors of progress are told at the start of an epoch: what runs, and what was counted of it.

Nothing where progress is not measured (`ProgressWatch.on`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.progress_watch import EpochProgress, ProgressWatch, RunningKernels, select_present
from eddy.policy.price.view import ClusterView, PriceView

_NOTHING = RunningKernels()


class PredictorInputs:
    """What tenants run, and what the last epoch says of it. A tenant between two kernels has the last one's.

    Args:
        watch: Reads what is counted of each tenant.
    """

    def __init__(self, watch: ProgressWatch) -> None:
        self._watch = watch
        self._running: dict[str, RunningKernels] = {}
        self._counted: EpochProgress | None = None

    def read_running(self, running: Callable[[], Mapping[str, RunningKernels]]) -> None:
        """Ask what each tenant has running."""
        if self._watch.on:
            self._running.update({tenant: each for tenant, each in running().items() if each.kernels})

    def has_changed(self, view: PriceView) -> bool:
        """Whether the tenants of an epoch run other kernels than when it began."""
        return self._watch.on and self._kernels(view.tenants) != view.kernels

    def end_epoch(
        self,
        tenants: Sequence[str],
        clusters: Sequence[ClusterView],
        alone_s: Mapping[tuple[str, int], float],
    ) -> EpochProgress | None:
        """An epoch ends; answers what was counted in it, None where nothing is.

        Args:
            tenants: Of the epoch.
            clusters: Of the epoch.
            alone_s: By tenant and slot, seconds that what it did takes alone, where that is known.
        """
        groups = {tenant: each.groups for tenant, each in self._running.items() if each.groups}
        self._counted = self._watch.end(tenants, clusters, groups, alone_s)
        return self._counted

    def of_view(self, last: Epoch | None, tenants: Sequence[str], clusters: Sequence[ClusterView]) -> dict[str, Any]:
        """The fields of `PriceView` that are for predictors; tenants that are gone are forgotten.

        Args:
            last: The epoch that ended last.
            tenants: Of the one that begins.
            clusters: Of the one that begins.
        """
        if not self._watch.on:
            return {}
        was = ((), ()) if last is None else (last.view.tenants, last.view.present.clusters)
        self._running = {tenant: self._running[tenant] for tenant in tenants if tenant in self._running}
        return {
            "sharing": select_present(self._counted, was, tenants, clusters),
            "machines": tuple(self._watch.machines.get(cluster.module) for cluster in clusters),
            "kernels": self._kernels(tenants),
            "least_progress": tuple(self._running.get(tenant, _NOTHING).least_progress for tenant in tenants),
        }

    def _kernels(self, tenants: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        return tuple(self._running.get(tenant, _NOTHING).kernels for tenant in tenants)
