# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of the state machine share: a policy that does as it is told, and a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddy.core.applications import Application, TaskSpec
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchView

FITS = {module: {0: f"{module}0", 1: f"{module}1"} for module in ("x", "y")}
ONE = Application("one", (TaskSpec(0, "t", "x", (), 1e-3, 1.0),), ())
TWO = Application("two", (TaskSpec(0, "t", "x", (), 1e-3, 1.0), TaskSpec(1, "u", "y", (), 1e-3, 1.0)), ((0, 1),))


class Script:
    """A policy that decides what the test says, once each, and shows what it saw."""

    name = "script"
    pipelined = True

    def __init__(self) -> None:
        self.next: list[Decision] = []
        self.seen: list[DispatchView] = []

    def initial(self) -> None:
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        self.seen.append(view)
        decisions, self.next = tuple(self.next), []
        return Dispatch(decisions)


class Bench:
    """A machine, its script, and a clock that moves on by a millisecond a step."""

    def __init__(self, scrubbed: Sequence[str] = ()) -> None:
        self.script = Script()
        self.machine = Machine({0: 0.1, 1: 0.2}, self.script, FITS, scrubbed)
        self.machine.state.pools[Pool.PIPELINE].switch(self.script)  # asked once, whoever has jobs
        self.now_s = 0.0

    def step(self, *inputs: m.Input, decide: Iterable[Decision] = ()) -> m.StepResult:
        self.now_s += 1e-3
        self.script.next = list(decide)
        return self.machine.step(self.now_s, inputs or (m.Wake(),))

    def arrive(
        self,
        number: int = 1,
        app: Application = ONE,
        tenant: str = "a",
        batch: int = 1,
        memory: bool = False,
        collects: m.OutputCollection = m.OutputCollection.NONE,
    ) -> None:
        self.step(m.Arrive(m.JobSpec(number, tenant, app, batch, 1, self.now_s, None, memory, collects=collects)))

    def load(self, job: int, task: int, slot: int) -> m.StepResult:
        """Give a slot, and let its load end."""
        self.step(decide=[Configure(job, task, slot)])
        return self.step(m.Configured(slot, self.now_s, self.now_s))

    def load_ends(self, slot: int) -> m.StepResult:
        """The load of a slot ends."""
        return self.step(m.Configured(slot, self.now_s, self.now_s))

    def done(self, slot: int, decide: Iterable[Decision] = ()) -> m.StepResult:
        return self.step(m.ItemEnded(slot, self.now_s, self.now_s), decide=decide)
