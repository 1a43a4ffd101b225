# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Epochs that ended, kept over restarts: the latest in memory, and the same as rows of text for the store.

Where there are more than are kept, every tenant keeps its latest ones before any tenant keeps more than its part (see
`select_retained`): one that comes and goes all day does not push out another's of yesterday.

Rows hold what reports, explanations and pictures need. What the cores counted, the configurations a policy was offered
and its memory are not among it. A row that cannot be read, as another version's, is left out.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eddy.policy.price.view import ClusterView, Configuration, Floats, PriceDecision, PriceView

KEPT = 4096
"""Most epochs the history holds."""
AT_ONCE = 512
"""Most epochs written at once: a board in virtual time has more of them in a second than anybody reads."""
_ROOM = 16
"""Once full, the history gives up a part of so many, so that few epochs begin with a look at all of them."""
_NOTHING_RAN = -1.0
Rows = Sequence[tuple[int, str]]
"""Numbers of epochs, and what they hold."""
Keep = Callable[[Rows, Collection[int]], None]
"""Keeps rows, and of all that are kept only those with these numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """What was decided at the start of an epoch, and what came of it.

    Attributes:
        number: Counts from 0.
        at_s: Board time of its start.
        ended_s: Of its end; None while it lasts.
        policy: Name of the policy.
        view, decision: What it saw, and what it said.
        measured: Whether each F was measured there; (n, m).
        delivered_s: Core-seconds each tenant had on each cluster, (n, m).
        work_s: Seconds one base PE would have taken for what each tenant got done; (n,).
        progress: Predicted normalised progress of each tenant on each cluster, (n, m), NaN where it ran nothing; None
            where progress is not measured.
        traffic_bytes: Each moved to and from memory from there, (n, m); None where that is not counted.
        progress_measured: 1 where progress was measured, by the kernels' speed alone, and not predicted; (n, m).
    """

    number: int
    at_s: float
    ended_s: float | None
    policy: str
    view: PriceView
    decision: PriceDecision
    measured: Floats
    delivered_s: Floats
    work_s: Floats
    progress: Floats | None = None
    traffic_bytes: Floats | None = None
    progress_measured: Floats | None = None


def select_retained(present: Sequence[Collection[str]], most: int) -> list[int]:
    """Which epochs to keep where there are too many; a pure function of who had work in each.

    With n tenants in them, the latest `most` / n of each stay, whoever shares them; of the others the latest stay. So a
    tenant alone has all, and nobody's are pushed out by what others do, up to its part.

    Args:
        present: Tenants by epoch, oldest first.
        most: Epochs to keep.

    Returns:
        Their indices, in order.
    """
    if len(present) <= most:
        return list(range(len(present)))
    part = most // max(len(set().union(*present)), 1)
    latest = Counter[str]()
    own, others = list[int](), list[int]()
    for index in reversed(range(len(present))):
        latest.update(present[index])
        (own if any(latest[tenant] <= part for tenant in present[index]) else others).append(index)
    return sorted((own + others)[:most])


class EpochHistory:
    """The epochs that ended, oldest first; from any thread.

    Args:
        most: Epochs it holds.
    """

    def __init__(self, most: int = KEPT) -> None:
        self.most = most
        self._ended: list[Epoch] = []
        self._lock = threading.Lock()
        self._gone: set[str] = set()
        """Tenants that were removed."""
        self._written = -1
        """Number of the last epoch that is in the store, or was left out of it."""

    def forget(self, tenant: str) -> None:
        """A tenant is removed: forget the epochs it had part in, and those that have not ended yet."""
        with self._lock:
            self._gone.add(tenant)
            self._ended = [epoch for epoch in self._ended if tenant not in epoch.view.tenants]

    def add(self, epoch: Epoch) -> None:
        """An epoch ended."""
        with self._lock:
            if not self._gone.isdisjoint(epoch.view.tenants):
                return
            self._ended.append(epoch)
            if len(self._ended) > self.most:
                self._ended = _latest(self._ended, self.most - self.most // _ROOM)

    def list_epochs(self) -> tuple[Epoch, ...]:
        """All of them."""
        with self._lock:
            return tuple(self._ended)

    @property
    def last(self) -> Epoch | None:
        """The latest one."""
        with self._lock:
            return self._ended[-1] if self._ended else None

    def last_delivered(self, tenants: Sequence[str], clusters: Sequence[ClusterView]) -> Floats:
        """Core-seconds each tenant had on each cluster in the latest epoch, (n, m); 0 where either was not there."""
        found, last = np.zeros((len(tenants), len(clusters))), self.last
        if last is None:
            return found
        row_of = {tenant: row for row, tenant in enumerate(last.view.tenants)}
        column_of = {cluster.slot: column for column, cluster in enumerate(last.view.present.clusters)}
        for row, tenant in enumerate(tenants):
            for column, cluster in enumerate(clusters):
                if tenant in row_of and cluster.slot in column_of:
                    found[row, column] = last.delivered_s[row_of[tenant], column_of[cluster.slot]]
        return found

    def restore(self, bodies: Iterable[str]) -> int:
        """Begin with what an earlier life wrote, oldest first; answers the number of the next epoch."""
        found = [epoch for epoch in map(_read, bodies) if epoch is not None]
        with self._lock:
            self._ended = _latest([*self._ended, *found], self.most)
            self._written = max([self._written, *(epoch.number for epoch in found)])
            return self._written + 1

    def write(self, keep: Keep) -> None:
        """Have epochs kept that ended since this was called last, `AT_ONCE` of them at most.

        Args:
            keep: Keeps rows, and no more of earlier ones than there are here; what it raises is passed on, and the rows
                come again next time.
        """
        ended = self.list_epochs()
        fresh = _latest([epoch for epoch in ended if epoch.number > self._written], AT_ONCE)
        if fresh:
            keep([(epoch.number, _text(epoch)) for epoch in fresh], {epoch.number for epoch in ended})
            self._written = fresh[-1].number


def _latest(epochs: list[Epoch], most: int) -> list[Epoch]:
    return [epochs[index] for index in select_retained([epoch.view.tenants for epoch in epochs], most)]


def _text(epoch: Epoch) -> str:
    here = epoch.view.present
    fields = {
        "number": epoch.number,
        "at_s": epoch.at_s,
        "ended_s": epoch.ended_s,
        "policy": epoch.policy,
        "tenants": epoch.view.tenants,
        "configuration": here.name,
        "clusters": [(cluster.slot, cluster.module, cluster.cores) for cluster in here.clusters],
        "chosen": epoch.decision.configuration,
        "least_progress": epoch.view.least_progress,
    }
    arrays = {
        "weights": epoch.view.weights,
        "waited": (epoch.view.waiting_s > 0).astype(np.float64),
        "fraction": here.parallel_fraction,
        "throughput": here.throughput,
        "shares": epoch.decision.shares,
        "prices": epoch.decision.prices,
        "measured": epoch.measured,
        "delivered_s": epoch.delivered_s,
        "work_s": epoch.work_s,
    }
    if epoch.progress is not None and epoch.traffic_bytes is not None:
        arrays["traffic_bytes"] = epoch.traffic_bytes
        if epoch.progress_measured is not None:
            arrays["progress_measured"] = epoch.progress_measured
        # JSON has no NaN.
        arrays["progress"] = np.where(np.isnan(epoch.progress), _NOTHING_RAN, epoch.progress)
    return json.dumps({**fields, **{name: array.tolist() for name, array in arrays.items()}}, separators=(",", ":"))


def _read(body: str) -> Epoch | None:
    try:
        return _epoch(json.loads(body))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError):
        return None


def _epoch(found: dict[str, object]) -> Epoch:
    """An epoch as `_text` wrote it.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    tenants = tuple(str(each) for each in _list(found["tenants"]))
    clusters = tuple(ClusterView(int(s), str(m), int(c)) for s, m, c in map(_list, _list(found["clusters"])))
    n, m = len(tenants), len(clusters)

    def array(name: str, *shape: int) -> Floats:
        return np.array(found[name], np.float64).reshape(shape)

    configuration = Configuration(
        str(found["configuration"]), clusters, array("fraction", n, m), array("throughput", n, m)
    )
    number, at_s = int(_number(found["number"])), _number(found["at_s"])
    delivered = array("delivered_s", n, m)
    waited = array("waited", n) if "waited" in found else np.ones(n)
    least = tuple(map(_number, _list(found.get("least_progress", []))))
    view = PriceView(
        *(at_s, number, tenants, array("weights", n), configuration, waited, np.zeros((n, m))),
        least_progress=least,
    )
    progress = array("progress", n, m) if "progress" in found else None
    return Epoch(
        number,
        at_s,
        _number(found["ended_s"]),
        str(found["policy"]),
        view,
        PriceDecision(array("shares", n, m), array("prices", m), str(found["chosen"])),
        array("measured", n, m),
        delivered,
        array("work_s", n),
        None if progress is None else np.where(progress < 0, np.nan, progress),
        array("traffic_bytes", n, m) if "traffic_bytes" in found else None,
        array("progress_measured", n, m) if "progress_measured" in found else None,
    )


def _list(value: object) -> list[str]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError("not a number")
    return float(value)
