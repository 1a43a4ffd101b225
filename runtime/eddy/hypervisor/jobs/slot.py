# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One slot inside the state machine."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from eddy.core.slots import PreemptReason
from eddy.hypervisor.jobs.metering import NOBODY, SlotMeter
from eddy.policy.dispatch.views.view import SlotView

DRAINED = "drained.{}"
"""Name of the stored value that says why a slot is drained; "" where it is not."""
LEASED = "leased: "
"""What the reason of a slot begins with that a lease holds."""
OWN = "own/"
"""What the name of a module begins with that came as its lease holder's own image: no job's module has such a name."""
MAX_REST_S = 60.0
"""Longest time a slot whose loads fail is left alone: a repaired slot is back within a minute."""


class Phase(str, enum.Enum):
    """What a slot does, as the hypervisor sees it."""

    FREE = "free"
    """No job holds it; a module may be resident."""
    LOADING = "loading"
    HELD = "held"
    """Loaded for a task that waits for its next item."""
    RUNNING = "running"


@dataclass(slots=True)
class MachineSlot:
    """A slot and who has it.

    Attributes:
        index: Position on the board.
        load_s: What a load takes: the board's figure at first, the last one measured later.
        module: What is resident or being loaded, "" where nothing may be trusted.
        tenant: Whom it serves or served last.
        phase: See `Phase`.
        job: Job that holds it. None while `LOADING`: a load that nobody waits for any more.
        leaving: Why it is taken from its job at the next boundary; None where it stays.
        stopping: A `StopItem` is out; what it holds is not trusted afterwards.
        faulted: It was closed after a fault; for people, a load mends it.
        failed_loads: How many loads failed in a row.
        rests_until_s: Not offered before: a slot whose loads fail is left alone for longer each time, and jobs go on
            in the others.
        since_s: Board time of the last change of phase.
        scrubbing: What it is `LOADING` for is no load: its module is being scrubbed for another tenant.
        near_load_s: What a load takes of an image that lies in the board's memory.
        near: Modules whose image for it does.
        coming: Modules whose image for it is being read because it is needed.
        was_near: Whether the image of the load under way did.
        scrubs: What is resident may serve another tenant without a load.
        drained: Why nothing new is placed here, for people; "" where it is.
        leased: The lease that holds it; "" for none. It is withheld from jobs then.
        meter: Whose its time is.
        feeds: Where its last stream went: slot, job and item there.
    """

    index: int
    load_s: float
    module: str = ""
    tenant: str = ""
    phase: Phase = Phase.FREE
    job: int | None = None
    task: int | None = None
    item: int | None = None
    leaving: PreemptReason | None = None
    stopping: bool = False
    faulted: bool = False
    failed_loads: int = 0
    rests_until_s: float = 0.0
    since_s: float = 0.0
    scrubbing: bool = False
    scrubs: bool = False
    drained: str = ""
    leased: str = ""
    lease_tenant: str = ""
    near_load_s: float = 0.0
    near: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()
    was_near: bool = False
    meter: SlotMeter = field(default_factory=SlotMeter)
    feeds: tuple[int, int, int] | None = None
    cached: SlotView | None = None

    def enter(self, phase: Phase, at_s: float) -> None:
        """Change the phase."""
        self.phase, self.since_s, self.cached = phase, at_s, None
        self.meter.set_holder(self.holder, at_s)

    def release(self, at_s: float) -> None:
        """Nobody holds it any more; what is resident stays."""
        self.job = self.task = self.item = None
        self.leaving, self.stopping = None, False
        self.enter(Phase.FREE, at_s)

    def forget_module(self) -> None:
        """What is inside must be loaded again before it serves."""
        self.module = self.tenant = ""
        self.scrubs = False
        self.cached = None

    def loaded(self, took_s: float) -> None:
        """A load ended well: what the next one of its kind takes."""
        if not self.was_near:
            self.load_s = took_s
        elif not self.near_load_s or took_s < self.near_load_s:
            # What was longer had to wait for the end of a read.
            self.near_load_s = took_s

    def back_off(self, at_s: float) -> None:
        """A load failed: leave the slot alone for as long as one takes, and twice as long each further time."""
        pause_s = min(self.load_s * 2.0**self.failed_loads, MAX_REST_S)
        self.failed_loads += 1
        self.rests_until_s = at_s + pause_s

    def is_offered(self, now_s: float) -> bool:
        """Whether policies are shown it: not while it rests, nor once it is withheld and no job has it."""
        return self.rests_until_s <= now_s and not (self.withheld and (self.phase is Phase.FREE or self.job is None))

    @property
    def has_own_image(self) -> bool:
        """Whether what it holds, or is loaded with, is an image of its lease's holder: that it fails tells nothing of
        the slot."""
        return self.module.startswith(OWN)

    @property
    def withheld(self) -> str:
        """Why no job is given it: it is drained, or leased; "" where jobs are."""
        return self.drained or (self.leased and f"{LEASED}{self.leased}")

    def view(self) -> SlotView:
        """What a policy sees."""
        if self.cached is None:
            self.cached = SlotView(
                index=self.index,
                module=self.module,
                tenant=self.tenant,
                job=self.job,
                task=self.task,
                loading=self.phase is Phase.LOADING,
                running=self.phase is Phase.RUNNING,
                load_s=self.load_s,
                scrubs=self.scrubs,
                near=self.near,
                coming=self.coming,
                near_load_s=self.near_load_s or self.load_s,
            )
        return self.cached

    @property
    def holder(self) -> str:
        """The tenant whose its time is; "" for nobody."""
        free = self.phase is Phase.FREE or self.job is None
        return (self.lease_tenant if self.leased else NOBODY) if free else self.tenant

    def snapshot(self) -> dict[str, Any]:
        """What a restarted hypervisor needs; plain JSON."""
        return {
            "module": self.module,
            "tenant": self.tenant,
            "phase": self.phase.value,
            "job": self.job,
            "task": self.task,
            "item": self.item,
            "leaving": None if self.leaving is None else self.leaving.value,
            "scrubbing": self.scrubbing,
            "since_s": self.since_s,
            "feeds": self.feeds,
        }
