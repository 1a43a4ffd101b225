# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that wait until the board can load their modules.

A simulated board builds the model of a module when a job first needs it, which takes tens of seconds. Until then the
machine does not see the job, and all other jobs continue. If the build fails, only that job fails.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from eddy.board.port.port import BoardPort
from eddy.hypervisor.jobs import messages as m

CAUSE = "module-not-built"
LOOK_S = 0.25
"""Wall seconds between two looks at what is being made."""


@dataclass(slots=True)
class _Held:
    """A job that waits, and the modules it waits for."""

    arrival: m.Arrive
    modules: list[str]


class PreparationHold:
    """What waits for the board's preparations.

    Args:
        now_s: Wall clock.

    Attributes:
        doing: Job to what is done for it, for people; jobs that wait for nothing are not in it.
        released: Messages of jobs that wait no longer, in order.
    """

    def __init__(self, board: BoardPort, now_s: Callable[[], float] = time.monotonic) -> None:
        self._board, self._now_s = board, now_s
        self._ready: set[str] = set()
        self._held: dict[int, _Held] = {}
        self._looked_s = -LOOK_S
        self.doing: dict[int, str] = {}
        self.released: deque[m.Input] = deque()

    def clear(self) -> None:
        """Forget everything: store and board are recovered."""
        self._ready.clear()
        self._held.clear()
        self.doing.clear()
        self.released.clear()

    def hold_job(self, arrival: m.Arrive) -> bool:
        """Keep a job that has arrived, where the board is not ready for it; answers whether.

        Raises:
            BoardUnreachable: Nobody can say.
        """
        modules = sorted({task.module for task in arrival.job.application.tasks} - self._ready)
        held = _Held(arrival, modules)
        why = self._missing(held)
        if not held.modules:
            return False
        self._held[arrival.job.id] = held
        if why:
            self._fail(held, why)
        return True

    def release(self, job: int) -> None:
        """Let a job go that is to end; nothing where it does not wait."""
        held = self._held.pop(job, None)
        if held is not None:
            self.doing.pop(job, None)
            self.released.append(held.arrival)

    @property
    def waiting(self) -> bool:
        """Whether some job waits."""
        return bool(self._held)

    def check_preparations(self) -> None:
        """See, now and then, how it stands with what jobs wait for.

        Raises:
            BoardUnreachable: Nobody can say.
        """
        if not self._held or self._now_s() - self._looked_s < LOOK_S:
            return
        self._looked_s = self._now_s()
        for held in list(self._held.values()):
            why = self._missing(held)
            if why:
                self._fail(held, why)
            elif not held.modules:
                self.release(held.arrival.job.id)

    def _missing(self, held: _Held) -> str:
        """Strike what has become ready off a job's list; answers why one never will be, or ""."""
        doing = []
        for module in list(held.modules):
            found = self._board.prepare(module)
            if found.ready:
                self._ready.add(module)
                held.modules.remove(module)
            elif found.failed:
                return found.failed
            else:
                doing.append(found.doing)
        if doing:
            self.doing[held.arrival.job.id] = doing[0]
        return ""

    def _fail(self, held: _Held, why: str) -> None:
        job = held.arrival.job.id
        self.release(job)
        self.released.append(m.JobFault(job, CAUSE, why))
