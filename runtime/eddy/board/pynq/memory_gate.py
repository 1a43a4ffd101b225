# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory changes hands: what a slot may reach, closed, drained, and proved before anybody else gets it.

A buffer that a module may reach is *on loan* (`Arena.lend`). A loan ends in one way, with a `QuiescenceProof`, and a
`QuiescenceProof` is made in one way: by hardware that says that nothing the slot got admitted is outstanding. So there
is no path by which memory is freed, scrubbed and handed on while a burst of its last user is under way, and none can
be added by forgetting a call. `MemoryGate` is the one place that opens windows and takes them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from eddy.board.port.clock import Clock
from eddy.board.port.port import Access, Cause, Grant, Stream
from eddy.board.pynq.fabric import NO_WINDOW, Fault, SlotControl, StreamEnd, Window
from eddy.core.errors import BoardFault, InvalidRequest
from eddy.core.units import format_duration

ITEM_DRAIN_BOUND_S = 50e-6
"""How long what a module got admitted may take to end once it says that it is done. A slot that holds a burst up for
MEMORY_TIMEOUT (4096 shell cycles, 41 us at 100 MHz) is cut off by the firewall, which then ends the burst without it. A
slot that is late all the same is closed by the swap, which cuts it off at once."""

SHARED_DRAIN_BOUND_S = 1e-3
"""The same where other kernels share the slot: they would all end with it, so only a memory that does not answer, or a
module that holds back burst after burst, may be that late."""

Pages = tuple[int, int]
"""First and last 4 KiB page, both included, as physical page numbers."""


class NotDrained(Exception):
    """Something the slot got admitted is still outstanding: what it may reach must not change hands."""


class Loan:
    """Buffers that a module may reach, by id, and where they are; made by `Arena.lend`."""

    __slots__ = ("buffers",)

    def __init__(self, buffers: Mapping[int, Pages]) -> None:
        self.buffers = dict(buffers)


class QuiescenceProof:
    """Proof that nothing which a loan let through is on its way to memory, or can be any more.

    Args:
        loan: What it is said of.
        control: The slot's control bank, with the loan's windows closed: revoked, quiesced, or the slot closed.
        clock: Board time.
        bound_s: How long to wait.

    Raises:
        NotDrained: The hardware does not say so within the bound.
    """

    __slots__ = ("loan",)

    def __init__(self, loan: Loan, control: SlotControl, clock: Clock, bound_s: float = 0.0) -> None:
        deadline_s = clock.now_s() + bound_s
        while not control.memory_drained():
            if clock.now_s() >= deadline_s:
                raise NotDrained(f"memory accesses did not end within {format_duration(bound_s)}")
        self.loan = loan


class Lender(Protocol):
    """What a gate needs of the arena."""

    def lend(self, buffers: Iterable[int]) -> Loan:
        """Let buffers be reached, until `end`."""

    def end(self, proof: QuiescenceProof) -> None:
        """End a loan that nobody can use any more."""


class MemoryGate:
    """What one slot may reach: windows open for a while, by memory context, and are taken back with proof.

    Args:
        control: The slot's control bank; nothing else opens its windows.
        clock: Board time, for the bound of the drain.
        arena: Where the buffers are.
    """

    def __init__(self, control: SlotControl, clock: Clock, arena: Lender) -> None:
        self._control, self._clock, self._arena = control, clock, arena
        self._open: dict[int, tuple[Loan, dict[int, Window]]] = {}
        self._owed: list[Loan] = []
        """Closed, and not seen to be drained: these buffers belong to nobody until they are."""
        self._table: tuple[Window, ...] | None = None
        self._revoked = False
        self._streams = False
        self.stream_fault = Fault(Cause.NONE)

    def open(self, grants: Iterable[Grant], context: int = 0, place: int = 0, streams: Iterable[Stream] = ()) -> None:
        """Let a memory context reach what it is granted, one window a buffer from `place` on, and nothing else; what of
        that is in `streams`, in another slot instead of memory.

        Raises:
            InvalidRequest: More buffers than the slot has windows.
            NotFound: A granted buffer is not there.
            BoardFault: What the slot had admitted before is still outstanding; it must be closed.
        """
        self.settle()
        if self._owed or context in self._open:
            raise BoardFault(
                "memory accesses of the slot's last user are still outstanding; close it",
                cause=Cause.MODULE_ERROR.value,
            )
        rights = _rights(grants, self._control.window_count)
        loan = self._arena.lend(rights)
        windows = {
            place + index: Window(*loan.buffers[buffer], *rights[buffer], contexts=1 << context)
            for index, buffer in enumerate(rights)
        }
        self._open[context] = (loan, windows)
        self._program()
        self.stream_fault = Fault(Cause.NONE)
        for stream in streams:
            # The buffer's number is never that of another's, so what has this key is of one job's item.
            key, sends = stream.buffer & 0xFFFF, rights[stream.buffer][1]
            self._control.open_stream(StreamEnd(sends, stream.slot, key, *loan.buffers[stream.buffer]))
            self._streams = True
        if self._revoked:
            self._control.admit()
            self._revoked = False

    def close(self, context: int = 0) -> None:
        """Take back what a context may reach: close, drain within the bound, end the loan. Nothing where none is open.

        Raises:
            NotDrained: It did not drain. Its buffers stay on loan; the slot must be closed.
        """
        if context not in self._open:
            return
        loan, _ = self._open.pop(context)
        self._owed.append(loan)
        if self._streams:
            self.stream_fault = self._control.stream_fault()
            # A read that waits for a word is answered; a write that waits for its reader goes there, and then the end.
            self._control.stop_receiving()
        if self._open:
            # Requests of the others wait meanwhile: it takes what was admitted, at memory's own pace.
            self._program()
            self._control.stop_memory()
            self._prove(SHARED_DRAIN_BOUND_S)
            self._control.resume_memory()
        else:
            # The windows stay where they are, for the next item of a batch.
            self._control.revoke()
            self._revoked = True
            self._prove(ITEM_DRAIN_BOUND_S)
            if self._streams:
                self._control.end_sending()
                self._streams = False

    def close_all(self, bound_s: float) -> None:
        """The slot was closed by the swap: nothing is open any more, and the next module begins without windows.

        What the slot had admitted ends without it, within `bound_s`; a memory that does not answer keeps its pages.
        """
        self._owed += [loan for loan, _ in self._open.values()]
        self._open, self._table, self._revoked, self._streams = {}, None, True, False
        self.settle(bound_s)

    def settle(self, bound_s: float = 0.0) -> None:
        """End the loans of a slot that was closed and had not drained, if it has by now; else they stay."""
        try:
            self._prove(bound_s)
        except NotDrained:
            return

    def _prove(self, bound_s: float) -> None:
        while self._owed:
            self._arena.end(QuiescenceProof(self._owed[0], self._control, self._clock, bound_s))
            del self._owed[0]

    def _program(self) -> None:
        windows = {place: window for _, mine in self._open.values() for place, window in mine.items()}
        table = tuple(windows.get(place, NO_WINDOW) for place in range(max(windows, default=-1) + 1))
        if table != self._table:
            self._control.set_windows(table)
            self._table = table


def _rights(grants: Iterable[Grant], limit: int) -> dict[int, tuple[bool, bool]]:
    """Whether each buffer may be read, and written: the same buffer twice is one window with both rights."""
    rights: dict[int, tuple[bool, bool]] = {}
    for grant in grants:
        read, write = rights.get(grant.buffer, (False, False))
        rights[grant.buffer] = (read or grant.access is not Access.WRITE, write or grant.access is not Access.READ)
    if len(rights) > limit:
        raise InvalidRequest(
            f"{len(rights)} buffers are granted, a slot has {limit} windows; put small buffers into one",
            field="grants",
            allowed=f"<= {limit}",
        )
    return rights
