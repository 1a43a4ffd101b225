# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A slot's control bank and clocking wizard as the board sees them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.memory_counters import MemoryCounters
from eddy_drivers.slot_ctrl import ALL_CONTEXTS, PageWindow, SlotCtrl
from eddy_drivers.stream_port import StreamPorts

from eddy.board.port.dram_map import hash_masks, units
from eddy.board.port.port import Cause, MonitorCounters
from eddy.board.port.profile import Profile
from eddy.board.pynq.fabric import Fault, StreamEnd, Window
from eddy.core.counters import MemoryUse

_REGISTER_CAUSES = frozenset({Cause.CONTROL_TIMEOUT, Cause.CONTROL_REFUSED})
"""Faults of a register access: what the bank has as their address is an offset."""

_STREAM_FAULTS = {
    "receive_refused": Fault(
        Cause.MODULE_ERROR, "it did not read its stream once, from the first byte on, in whole words"
    ),
    "receive_lost": Fault(
        Cause.STREAM_LOST, "the stream it reads was not written from the first byte on, in whole words, or ended early"
    ),
}
"""Fields of STATE, and what each says of the item; the first that is set counts. What is wrong at the sender's end is
seen at its reader's."""


def memory_bytes_per_cycle(profile: Profile) -> float:
    """What the memory port moves in a shell-clock cycle: a beat read and one written, which the regulator counts alike;
    or what the DRAM gives."""
    return min(2 * profile.memory_bits // 8, profile.dram.bytes_per_s / profile.shell_hz)


class ControlBank:
    """A slot's control bank as the board sees it."""

    def __init__(
        self,
        bank: SlotCtrl,
        profile: Profile,
        index: int = 0,
        controller: MemoryCounters | None = None,
        streams: StreamPorts | None = None,
    ) -> None:
        self._bank, self._index, self._controller, self._streams = bank, index, controller, streams
        # Whether a stream may be open that has not ended: at first, of whoever had the board before.
        self._sends = streams is not None
        self.stop_memory = bank.quiesce
        self.resume_memory = bank.resume
        self.revoke = bank.revoke
        self.admit = bank.admit
        self.memory_drained = bank.memory_drained
        self.drained = bank.idle
        self.decouple = bank.decouple
        self.hold_reset = bank.hold_reset
        self.release_reset = bank.release_reset
        self.open_control = bank.open_control
        self.open_memory = functools.partial(bank.open_memory, revoked=True)
        self.clock_running = bank.clock_alive
        self.clear_fault = bank.clear_causes
        self.clear_counters = bank.clear_counters
        self.window_count = bank.window_count
        self.shares_cache = profile.cache_bytes > 0
        if len(profile.slots) > 1:
            bank.set_regulator(profile.memory_share * memory_bytes_per_cycle(profile))
        dram = profile.dram
        bank.set_geometry(
            bank_shift=(dram.row_bytes - 1).bit_length(),
            bank_bits=(units(dram) - 1).bit_length(),
            row_shift=(dram.row_bytes * units(dram) - 1).bit_length(),
            hash_masks=hash_masks(dram),
        )

    def fault(self) -> Fault:
        """The first fault since causes were cleared."""
        first = self._bank.first_fault()
        if first is None:
            return Fault(Cause.NONE)
        cause = Cause(first.cause.name.lower().replace("_", "-"))
        if cause is Cause.CLOCK_LOST:
            return Fault(cause, f"{cause.value}: the slot's clock stopped with an access or a burst outstanding")
        if cause in _REGISTER_CAUSES:
            return Fault(cause, f"{cause.value} at register offset {first.address:#x}")
        where = f"{cause.value} at address {first.address:#x}, context {first.context}"
        return Fault(cause, where, first.context, first.address)

    def open_stream(self, end: StreamEnd) -> None:
        """Set an end."""
        assert self._streams is not None, "refused before where there are none"
        self._sends = self._sends or end.sends
        if not end.sends:
            # What the other slot sent last has been read, and its key may be this one's, 65,536 buffers later.
            self._streams.stop_sending(end.slot)
        begin = self._streams.send if end.sends else self._streams.receive
        begin(self._index, end.slot, end.key, end.first_page, end.last_page)

    def stream_fault(self) -> Fault:
        """What went wrong at the slot's ends since they were set; `Cause.NONE` where nothing did."""
        state = self._streams.state(self._index) if self._streams is not None else {}
        return next((fault for name, fault in _STREAM_FAULTS.items() if state.get(name)), Fault(Cause.NONE))

    def stop_receiving(self) -> None:
        """The slot reads no stream any more."""
        if self._streams is not None:
            self._streams.stop_receiving(self._index)

    def end_sending(self) -> None:
        """The slot has sent all it will."""
        if self._streams is not None:
            self._streams.end_sending(self._index)
            self._sends = False

    def break_streams(self) -> None:
        """Both ends are gone; of a stream that has ended, the rest stays for its reader."""
        if self._streams is not None:
            self._streams.stop_receiving(self._index)
            if self._sends:
                self._streams.stop_sending(self._index)
            self._sends = False

    def set_windows(self, windows: tuple[Window, ...]) -> None:
        """Replace all windows of memory."""
        self._bank.set_windows([PageWindow(w.first_page, w.last_page, w.read, w.write, w.contexts) for w in windows])

    def snapshot(self, context: int | None) -> MonitorCounters:
        """What the monitor has counted: of one context, or of all."""
        return MonitorCounters(**self._bank.counters(ALL_CONTEXTS if context is None else context))

    def memory_use(self, contexts: Sequence[int]) -> Mapping[int, MemoryUse]:
        """What contexts have asked of memory, all of one cycle."""
        if self._controller is None:
            # The first takes every context's counters, the others show more of the same cycle.
            counted = {each: self._bank.counters(each, keep=number > 0) for number, each in enumerate(contexts)}
            return {context: _use(MonitorCounters(**found)) for context, found in counted.items()}
        self._controller.capture()
        kept = self._controller.read_captured(self._index, contexts)
        return {context: _served(counted) for context, counted in kept.items()}


def _use(counted: MonitorCounters) -> MemoryUse:
    return MemoryUse(
        reads=counted.read_requests,
        requests=counted.read_requests + counted.write_requests,
        bytes=counted.read_bytes + counted.write_bytes,
        row_hits=counted.row_hits,
    )


def _served(counted: Mapping[str, int]) -> MemoryUse:
    return MemoryUse(
        reads=counted["read_requests"],
        requests=counted["read_requests"] + counted["write_requests"],
        bytes=counted["read_bytes"] + counted["write_bytes"],
        row_hits=counted["row_hits"],
    )


class SlotClock:
    """A clocking wizard as the board sees it."""

    def __init__(self, wizard: ClockingWizard, profile: Profile) -> None:
        self._wizard = wizard
        # The shell's own clock feeds the wizards, whatever the metadata forgot to say.
        wizard.reference_hz = wizard.reference_hz or profile.shell_hz
        self.locked, self.rate_hz = wizard.locked, wizard.rate_hz

    def set_rate(self, hz: float) -> None:
        """Set the clock; it is locked some time later."""
        self._wizard.set_rate(hz)
