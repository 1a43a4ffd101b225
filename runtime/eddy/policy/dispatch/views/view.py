# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a dispatch policy sees, and what it may decide ([004] section 2.3).

A policy is a value with `initial()` and `decide(view)`. The view is frozen and holds the time, so the hypervisor, the
simulator and a replayed trace call the very same object. What a policy wants to remember from call to call (tokens,
queues, learned latencies) it returns as `memory` and finds in the next view; it keeps nothing itself.

Only configuring and preempting are decided here. An item is launched by the hypervisor, in item order, as soon as its
task sits in a slot and every predecessor has finished that item (every predecessor has finished *every* item, where
the job runs in bulk mode).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.jobs import Jobs


@dataclass(frozen=True, slots=True)
class SlotView:
    """One slot of the `pipeline` pool.

    Attributes:
        index: Position on the board.
        module: Module that is resident, or "" for none (or none that may be trusted).
        tenant: The tenant it last served; without a load, others may use the module only where it `scrubs`.
        job: Job that holds the slot, or None where it is free.
        task: Task of that job.
        loading: The configuration port is busy with this slot.
        running: An item runs at this moment (not preemptible until its boundary).
        load_s: What a load of this slot takes, in board seconds.
        near: Modules whose image for this slot lies in the board's memory.
        coming: Modules whose image for this slot is being read because it is needed.
        near_load_s: What a load of one of those takes; 0 where it takes as long as others.
        scrubs: The module may serve any tenant without a load: a reset in between leaves nothing behind.
    """

    index: int
    module: str
    tenant: str
    job: int | None
    task: int | None
    loading: bool
    running: bool
    load_s: float
    scrubs: bool = False
    near: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()
    near_load_s: float = 0.0

    def loads_in_s(self, module: str) -> float:
        """What a load of a module takes here, in board seconds."""
        return self.near_load_s if module in self.near and self.near_load_s else self.load_s


@dataclass(frozen=True, slots=True)
class Observation:
    """A finished item's true duration, for policies that learn.

    Attributes:
        module: What it ran on.
        task: Its task's id there.
        estimate_s: The designer's estimate for it.
    """

    module: str
    duration_s: float
    application: str
    task: int
    estimate_s: float


@dataclass(frozen=True, slots=True)
class DispatchView:
    """The world at one instant.

    Attributes:
        now_s: Board time.
        jobs: Arrived and not ended, by arrival, then id; what is given as a tuple is kept as `Jobs`.
        slots: Of the `pipeline` pool, by index.
        port_busy: The configuration port is loading; no `Configure` that needs a load is possible now.
        observations: Items that finished since the last call, in order.
        memory: What the policy returned last time; `initial()` the first time.
        changed: Ids of the jobs that came, changed or went since the call that returned `memory`, and maybe of others;
            None where that is not known, so that all must be looked at.
        reads_beside: Whether images are read into memory beside loads: what asks for one first and loads it when it is
            near does not keep the port busy with the read.
        weights: What tenants are entitled to, relative to each other; 1 of who is not in it.
    """

    now_s: float
    jobs: Jobs
    slots: tuple[SlotView, ...]
    port_busy: bool
    observations: tuple[Observation, ...]
    memory: Any
    changed: frozenset[int] | None = None
    reads_beside: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.jobs, Jobs):
            object.__setattr__(self, "jobs", Jobs(self.jobs))


@dataclass(frozen=True, slots=True)
class Configure:
    """Give `slot` to `task` of `job`; the hypervisor loads the image unless what is resident will do."""

    job: int
    task: int
    slot: int


@dataclass(frozen=True, slots=True)
class Preempt:
    """Take `slot` from its job: at once where no item runs, else at the item's boundary. `reason` is recorded."""

    slot: int
    reason: PreemptReason


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Bring the image of `module` for `slot` into memory ahead of its load."""

    module: str
    slot: int


Decision = Configure | Preempt | Prefetch


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What a policy decided.

    Attributes:
        decisions: Carried out in order. One that no longer fits the world is dropped and recorded, never an error.
        memory: Handed back in the next view.
        wake_s: Board time at which to be called again even if nothing happens, or None.
    """

    decisions: tuple[Decision, ...]
    memory: Any = None
    wake_s: float | None = None


class DispatchPolicy(Protocol):
    """A dispatch policy: a frozen value, pure in its view.

    Attributes:
        name: As `--policy` takes it.
        pipelined: Whether a task may start an item while its predecessor works on later ones (else: bulk mode).
    """

    @property
    def name(self) -> str:
        """As `--policy` takes it."""

    @property
    def pipelined(self) -> bool:
        """Whether tasks of a job may work on different items at once."""

    def initial(self) -> Any:
        """Memory before the first call."""

    def decide(self, view: DispatchView) -> Dispatch:
        """Decide; called on every arrival, completion, configuration, release, and at `wake_s`."""


__all__ = [
    "Configure",
    "Decision",
    "Dispatch",
    "DispatchPolicy",
    "DispatchView",
    "JobView",
    "Jobs",
    "Observation",
    "Preempt",
    "Prefetch",
    "SlotView",
    "TaskView",
]
