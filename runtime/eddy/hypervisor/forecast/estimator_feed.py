# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The engine's part in estimates: it lets the estimator see what happens, takes pictures of queues, and keeps what was
learned over a restart. Everything here is called by the engine's thread."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from typing import Protocol

from eddy.core.records import JobEvent
from eddy.core.slots import Pool
from eddy.hypervisor.forecast.cores import CoresPicture, picture_cores
from eddy.hypervisor.forecast.estimator import Estimator, load_unit_s
from eddy.hypervisor.forecast.queue import QueuePicture, picture_queue
from eddy.hypervisor.machine.machine import Machine
from eddy.model.estimates.calibration import Calibration

KEPT = "estimates"
"""Name under which the store keeps what was learned."""
KEEP_S = 300.0
"""Wall seconds between two times that it does: at most so much is learned again after a crash."""
_log = logging.getLogger(__name__)


class MetaStore(Protocol):
    """What is asked of the store."""

    def meta(self, key: str, default: str = "") -> str:
        """A value kept by name."""

    def remember(self, key: str, value: str, durable: bool = True) -> None:
        """Keep a value by name; where it need not survive a loss of power, without waiting for the disk."""


class EstimatorFeed:
    """Lets an estimator follow a machine.

    Args:
        store: Keeps what was learned.
    """

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._estimator: Estimator | None = None
        self._keep_s = 0.0
        self._kept = 0
        """Scores and items that had been seen when it was kept last."""

    @property
    def estimator(self) -> Estimator:
        """What estimates; there is one once the machine was recovered."""
        assert self._estimator is not None
        return self._estimator

    def start(self, machine: Machine) -> None:
        """The machine was recovered from store and board."""
        if self._estimator is None:
            self._estimator = self._restored(load_unit_s(machine))
        self._keep_s = time.monotonic() + KEEP_S

    def _restored(self, unit_s: float) -> Estimator:
        """With what an earlier life learned; without it where that cannot be read: it costs precision alone."""
        kept = self._store.meta(KEPT)
        if kept:
            try:
                return Estimator.restore(unit_s, json.loads(kept))
            except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
                _log.warning("what was learned for estimates cannot be read, and is learned again: %s", error)
        return Estimator(Calibration(unit_s))

    def observe_step(self, log: Iterable[JobEvent], machine: Machine) -> None:
        """A step of the machine was committed."""
        self.estimator.observe_step(log, machine)

    def save_learned(self, now: bool = False) -> None:
        """Have the store keep what was learned, where some time has passed; `now`: whether or not it has."""
        if self._estimator is None or not (now or time.monotonic() >= self._keep_s):
            return
        self._keep_s = time.monotonic() + KEEP_S
        if self._estimator.lessons != self._kept:
            lessons, text = self._estimator.lessons, json.dumps(self._estimator.to_json(), separators=(",", ":"))
            self._store.remember(KEPT, text, durable=False)
            self._kept = lessons


def pictures(machine: Machine, now_s: float) -> tuple[QueuePicture | CoresPicture, ...]:
    """The queues of all pools; for the thread that steps the machine."""
    pools = [pool for pool in machine.state.pools if pool is not Pool.GPU or machine.clusters is None]
    found = tuple(picture_queue(machine, pool, now_s) for pool in pools)
    return found if machine.clusters is None else (*found, picture_cores(machine.clusters, now_s))
