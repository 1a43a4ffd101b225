# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Items on an accelerator with the registers of Xilinx HLS: one after the other, in memory context 0."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from eddy.board.port.kernels import check_no_kernel
from eddy.board.port.port import Access, Cause, Launch
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.fabric import Fault
from eddy.board.pynq.memory_gate import NotDrained
from eddy.board.pynq.runner import EndedItem, RunnerParts, StartFailed
from eddy.core.counters import CoreCounters
from eddy.core.errors import InvalidRequest
from eddy.core.slots import Control


class HlsRunner:
    """Runs one item at a time; one that fails costs the slot.

    Args:
        parts: What it works with.
        control: How the module is started and says that it is done.
    """

    can_share = False

    def __init__(self, parts: RunnerParts, control: Control) -> None:
        self._parts, self._control = parts, control
        self._launch: Launch | None = None
        self._started_s = 0.0
        self._ended: list[EndedItem] = []

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The item that runs."""
        return () if self._launch is None else (self._launch,)

    def next_limit_s(self) -> float:
        """When its time limit comes."""
        return float("inf") if self._launch is None else self._started_s + self._launch.time_limit_s

    def start(self, launch: Launch) -> None:
        """Write the item's registers and start the module.

        A module that is not at rest gets no item: what it says later would pass for the item's end. The item fails.

        Raises:
            InvalidRequest: It is a kernel; or nothing says when an item of the module has ended.
            NotFound: A granted buffer is not there.
            BoardFault: What the slot had admitted before is still outstanding.
            StartFailed: The module does not take it.
        """
        check_no_kernel(self._parts.index, launch)
        for result in launch.results:
            self._parts.arena.get(result.buffer)
        if self._control is Control.NONE:
            message = f"the module in slot {self._parts.index} has no control protocol: no item can be started on it"
            raise InvalidRequest(message, field="slot")
        with self._starting():
            why = self._parts.hardware.module.unready_reason()
            if why:
                self._refuse(launch, why)
                return
        self._parts.accounts.begin(0, launch.account)
        self._parts.gate.open(launch.grants, streams=launch.streams)
        with self._starting():
            self._begin(launch)

    def service(self, fault: bool, done: bool) -> None:
        """See whether the item has ended."""
        if fault:
            self._blame(self._parts.hardware.control.fault())
        if done and self._launch is not None and not self._settle(self._launch):
            self._parts.done.rearm(something=False)
        if self._launch is not None and self._parts.clock.now_s() >= self.next_limit_s():
            self._end_late(self._launch)

    def stop(self, item: str) -> None:
        """End the item; closing the slot stops it."""
        if self._launch is not None and item in ("", self._launch.item):
            self._end(Cause.STOPPED, "stopped on request")

    def abandon_all(self, cause: Cause, detail: str) -> None:
        """End the item without asking the module."""
        self._end(cause, detail)

    def take_ended(self) -> tuple[EndedItem, ...]:
        """What has ended since this was last asked."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def take_interrupt(self) -> str:
        """Nothing: nobody listens but this."""
        return ""

    def running_counters(self) -> tuple[tuple[str, CoreCounters], ...]:
        """Nothing: the module has no cores."""
        return ()

    # Behind the calls

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """What the slot was opened for must not stay open where the module's driver fails."""
        try:
            yield
        except BaseException as error:
            self._launch = None
            raise StartFailed(error, f"a start failed: {error}") from error

    def _refuse(self, launch: Launch, why: str) -> None:
        """End an item that was not started. Where the module does not answer, what was read of it says nothing."""
        self._launch, self._started_s = launch, self._parts.clock.now_s()
        fault = self._parts.hardware.control.fault()
        if fault.cause is Cause.NONE:
            asked = f"is its control protocol {self._control.value}, as its manifest says?"
            self._end(Cause.MODULE_ERROR, f"the module takes no start: {why}; {asked}")
        else:
            self._end(fault.cause, fault.detail)

    def _begin(self, launch: Launch) -> None:
        hardware = self._parts.hardware
        for offset, value in launch.registers:
            hardware.module.write(offset, value)
        self._parts.done.arm()
        hardware.fault.arm()
        self._launch, self._started_s = launch, self._parts.clock.now_s()
        hardware.module.start()

    def _blame(self, fault: Fault) -> None:
        if fault.cause is not Cause.NONE:
            self._end(fault.cause, fault.detail)

    def _end_late(self, launch: Launch) -> None:
        if not self._settle(launch):
            detail = f"not done after {launch.time_limit_s:g} s of board time"
            at_rest = self._parts.hardware.module.is_at_rest()
            self._end(Cause.TIME_LIMIT, detail + "; the module is idle, as if it had not been started" * at_rest)

    def _settle(self, launch: Launch) -> bool:
        """End the item if it has ended; answer whether it had."""
        module = self._parts.hardware.module
        finished = module.finished(self._control)
        status = module.read(launch.status) if finished and launch.status >= 0 else 0
        results = self._results(launch) if finished and not status else []
        late = self._take_back() if finished else ""
        # After the reads, because a module that does not answer them shows there, and what was read is poison; and
        # after the memory was taken back, because requests still to come when the module said done show there.
        fault = self._parts.hardware.control.fault()
        if fault.cause is not Cause.NONE:
            self._end(*self._explain(launch, fault, finished))
        elif late:
            self._end(Cause.MODULE_ERROR, f"the module reports done, but its {late}")
        elif finished and self._parts.gate.stream_fault.cause is not Cause.NONE:
            lost = self._parts.gate.stream_fault
            self._end(lost.cause, f"the module reports done, but {lost.detail}")
        elif status:
            detail = f"the module's status register at {launch.status:#x} reads {status:#x}"
            named = [name for bit, name in enumerate(launch.causes) if status >> bit & 1]
            detail += f" ({', '.join(named)})" * bool(named)
            self._end(Cause.MODULE_ERROR, detail)
        elif finished:
            for buffer, data in results:
                self._parts.arena.write(buffer, 0, data)
            self._end(Cause.NONE, "")
        return self._launch is None

    def _results(self, launch: Launch) -> list[tuple[int, bytes]]:
        """What the module left in its registers, by the buffer it goes to."""
        module, found = self._parts.hardware.module, []
        for result in launch.results:
            offsets = range(result.offset, result.offset + result.bytes, 4)
            words = b"".join(module.read(offset).to_bytes(4, "little") for offset in offsets)
            found.append((result.buffer, words[: result.bytes]))
        return found

    def _take_back(self) -> str:
        """Close what the item could reach, and see it drained; answer why it did not."""
        try:
            self._parts.gate.close()
        except NotDrained as late:
            return str(late)
        return ""

    def _explain(self, launch: Launch, fault: Fault, finished: bool) -> tuple[Cause, str]:
        """Why the item failed. A module that is done and asks for what it was granted is not outside its windows."""
        if finished and is_late_access(fault, launch, self._parts.arena):
            detail = f"the module reported done, and made memory requests after that ({fault.detail})"
            return Cause.MODULE_ERROR, detail
        return fault.cause, fault.detail

    def _end(self, cause: Cause, detail: str) -> None:
        if self._launch is not None:
            self._ended.append(EndedItem(self._launch, self._started_s, cause, detail))
        self._launch = None


def is_late_access(fault: Fault, launch: Launch, arena: Arena) -> bool:
    """Whether a fault is an access the launch allowed: the module asked for it after it had said that it was done."""
    forbidden = {Cause.READ_OUTSIDE_WINDOW: Access.WRITE, Cause.WRITE_OUTSIDE_WINDOW: Access.READ}.get(fault.cause)
    if forbidden is None or fault.context != 0:
        return False
    granted = [arena.get(grant.buffer) for grant in launch.grants if grant.access is not forbidden]
    return any(buffer.address <= fault.address < buffer.address + buffer.bytes for buffer in granted)
