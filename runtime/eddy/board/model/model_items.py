# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The items of the `model` board: what they take, what they leave in memory and in counters, and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from eddy.board.model.model_forecast import ModelForecast
from eddy.board.model.model_memory import ModelMemory
from eddy.board.model.model_modules import Behaviour, Clusters, ModelModule, RunningItem, Usage, module_of
from eddy.board.model.model_slot import ModelSlot, charge
from eddy.board.port.events import EventLog
from eddy.board.port.held import check_held
from eddy.board.port.kernels import cause_of
from eddy.board.port.port import Access, Cause, CoreReport, EventKind, Launch, SlotPhase
from eddy.core.counters import ContextCounters
from eddy.core.errors import Conflict, InvalidRequest, ModuleFault
from eddy.core.slots import Image
from eddy.gpu.programs.shape import ClusterShape


class ModelItems:
    """Starts and ends items in the slots of one board.

    Args:
        images: What slots may hold, by sha256.
        clusters: Which modules are GPU clusters of which shape, beside those whose names say so.
        forecast: What an item takes, and how it ends.
        behaviours: By module; what an item does to its buffers when it ends.
        usage: What kernels execute and ask of memory.
        arena: The board's memory.
        computing: What computes kernels when they are launched; None where they only take their time.
    """

    def __init__(
        self,
        images: Mapping[str, Image],
        clusters: Mapping[str, ClusterShape],
        forecast: ModelForecast,
        behaviours: Mapping[str, Behaviour],
        usage: Usage,
        arena: ModelMemory,
        computing: Clusters | None = None,
    ) -> None:
        self._images, self._clusters, self._forecast = images, clusters, forecast
        self._behaviours, self._usage, self._arena = behaviours, usage, arena
        self._computing = computing

    def begin(self, slot: int, state: ModelSlot, launch: Launch, now_s: float) -> tuple[RunningItem, float]:
        """An item as it starts, and how many seconds it will take.

        Raises:
            Conflict: The slot, or a core, is not idle.
            NotFound: A granted buffer does not exist.
            InvalidRequest: The launch is not one for the module in the slot.
        """
        module = self._module(state) if state.image else None
        beside = state.phase is SlotPhase.RUNNING and module is not None and module.shares
        if module is None or (state.phase is not SlotPhase.IDLE and not beside):
            raise Conflict(f"slot {slot} is {state.phase.value}, not idle", slot=slot)
        for grant in launch.grants:
            self._arena.buffer(grant.buffer)
        if launch.held:
            check_held(slot, launch)
            if module.shares:
                raise InvalidRequest(f"slot {slot} holds a GPU cluster; only accelerators are held", field="held")
            return RunningItem(launch, now_s, Cause.NONE, frozenset()), inf
        cores = module.check(slot, launch, self._arena, state.items.values())
        takes_s, verdict = self._forecast.item(slot, module, self._images[state.image].module, launch)
        if self._computing is None or verdict is not Cause.NONE:
            return RunningItem(launch, now_s, verdict, frozenset(cores)), takes_s
        computed = module.compute(launch, self._arena, self._computing, self._images[state.image].clk_hz)
        if computed is None:
            return RunningItem(launch, now_s, verdict, frozenset(cores)), takes_s
        ends_s = launch.time_limit_s if computed.cause is Cause.TIME_LIMIT else takes_s
        return RunningItem(launch, now_s, computed.cause, frozenset(cores), computed.reports), ends_s

    def run_s(self, slot: int, state: ModelSlot) -> float:
        """What a run takes that the caller of a held module begins."""
        assert state.hold is not None
        return self._forecast.item(slot, self._module(state), self._images[state.image].module, state.hold.launch)[0]

    def finish_run(self, slot: int, state: ModelSlot, at_s: float, log: EventLog) -> None:
        """A run of a held module is over: it did its work, or met its fault, which closes the slot."""
        hold = state.hold
        assert hold is not None
        verdict, detail = self._run_behaviour(slot, state, hold.launch, hold.arguments())
        if verdict is Cause.NONE:
            hold.finish_run()
        else:
            self.fail(slot, state, hold.number, at_s, verdict, detail, log)

    def finish(self, slot: int, state: ModelSlot, number: int, at_s: float, log: EventLog) -> None:
        """An item's time has come: it did its work, or met its fault, or its limit."""
        item = state.items[number]
        launch, verdict, detail = item.launch, item.verdict, cause_of(item.reports)[1] or "injected"
        if verdict is Cause.TIME_LIMIT:
            detail = f"no end within {launch.time_limit_s:g} s"
        if verdict is Cause.NONE:
            registers = self._module(state).registers(slot, launch, self._arena)
            verdict, detail = self._run_behaviour(slot, state, launch, registers)
        if verdict is not Cause.NONE:
            self.fail(slot, state, number, at_s, verdict, detail, log)
            return
        for grant in launch.grants:
            size = self._arena.buffer(grant.buffer).bytes
            state.read_bytes += size if grant.access is not Access.WRITE else 0
            state.write_bytes += size if grant.access is not Access.READ else 0
        cores = self._take_out(state, number, at_s)
        if not state.items:
            state.enter(SlotPhase.IDLE, at_s, image=state.image)
        log.add(EventKind.ITEM_DONE, slot, at_s=at_s, started_s=item.started_s, item=launch.item, cores=cores)

    def fail(
        self, slot: int, state: ModelSlot, number: int, at_s: float, cause: Cause, detail: str, log: EventLog
    ) -> None:
        """An item ended badly: the slot is closed, unless others go on in it."""
        item = state.items[number]
        cores = self._take_out(state, number, at_s)
        if not state.items:
            state.enter(SlotPhase.FAULTED, at_s)
        log.add(
            EventKind.ITEM_FAILED,
            slot,
            at_s=at_s,
            started_s=item.started_s,
            item=item.launch.item,
            cause=cause,
            detail=detail,
            cores=cores,
        )

    def accounts(self, state: ModelSlot, now_s: float) -> dict[str, ContextCounters]:
        """What items did in a slot, by account, up to now."""
        totals = dict(state.accounts)
        for item in state.items.values():
            charge(totals, item.launch.account, self._used(state, item, now_s))
        return totals

    def _module(self, state: ModelSlot) -> ModelModule:
        return module_of(self._images[state.image].module, self._clusters)

    def _run_behaviour(
        self, slot: int, state: ModelSlot, launch: Launch, registers: Mapping[int, int]
    ) -> tuple[Cause, str]:
        """Let the module's behaviour work on the granted memory; a step outside is a fault, as on the shell."""
        behaviour = self._behaviours.get(self._images[state.image].module)
        if behaviour is None:
            return Cause.NONE, ""
        window = self._arena.window(launch.grants)
        try:
            behaviour(registers, window)
        except ModuleFault as fault:
            return Cause(fault.details["cause"]), fault.message
        finally:
            # As on the shell: what a module reaches, it reaches while its item runs.
            window.close()
        return Cause.NONE, ""

    def _take_out(self, state: ModelSlot, number: int, at_s: float) -> tuple[CoreReport, ...]:
        """End an item: its account is charged, and its cores report."""
        item = state.items[number]
        reports = item.reports or self._module(state).reports(item.cores, self._cycles(state, item, at_s))
        charge(state.accounts, item.launch.account, self._used(state, item, at_s))
        del state.items[number]
        return reports

    def _used(self, state: ModelSlot, item: RunningItem, at_s: float) -> ContextCounters:
        return self._usage(item.launch, len(item.cores), self._cycles(state, item, at_s))

    def _cycles(self, state: ModelSlot, item: RunningItem, at_s: float) -> int:
        return round((at_s - item.started_s) * self._images[state.image].clk_hz)
