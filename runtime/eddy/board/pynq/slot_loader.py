# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Loads and scrubs of slots: one download at a time, and what comes before and after it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from eddy.board.port.events import EventLog
from eddy.board.port.port import Cause, EventKind, SlotPhase
from eddy.board.pynq import swap
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.fabric import Fabric
from eddy.board.pynq.slot import BoardSlot, make_runner
from eddy.board.pynq.slot_steps import SlotSteps
from eddy.board.pynq.swap import SwapContext, finish
from eddy.core.slots import Image


@dataclass
class _Load:
    """A load under way, and how the slot is opened after it; without a download, the module stays."""

    slot: int
    image: Image
    started_s: float
    swap: SwapContext
    download: Future[None] | None = None
    opening: Callable[[SwapContext], None] = finish


class SlotLoader:
    """Loads and scrubs slots.

    Args:
        fabric: Downloads images.
        slots: By index.
        steps: Close slots, and note their phases.
        arena: The memory that modules are granted.
        log: Told how each load ended.
    """

    def __init__(self, fabric: Fabric, slots: list[BoardSlot], steps: SlotSteps, arena: Arena, log: EventLog) -> None:
        self._fabric, self._slots, self._steps, self._arena, self._log = fabric, slots, steps, arena, log
        self._load: _Load | None = None

    @property
    def slot(self) -> int | None:
        """The slot that is being loaded, if any is."""
        return None if self._load is None else self._load.slot

    def begin(self, slot: int, image: Image, vetted: Image, file: Path, region: str) -> None:
        """Close a slot and start the download; `service` does the rest.

        Args:
            slot: Which.
            image: What is loaded.
            vetted: The same, without what no trusted signature covers.
            file: The image's checked copy.
            region: Name of the slot's partition.
        """
        target = self._slots[slot]
        context = self._steps.context(target, image)
        started_s = self._steps.clock.now_s()
        self._steps.move(target, SlotPhase.LOADING, image=image.sha256)
        try:
            swap.begin(context)
            target.gate.close_all(swap.SLOT_DRAIN_BOUND_S)
            download = self._steps.clock.start(lambda: self._fabric.download(region, file), self._ring)
        except BaseException:
            self._steps.force_close(target, SlotPhase.FAULTED)
            raise
        self._load = _Load(slot, vetted, started_s, context, download)

    def scrub(self, slot: int, held: Image) -> None:
        """Close an idle slot, reset what it holds, and open it again."""
        self._reopen(slot, held, swap.reopen)

    def retime(self, slot: int, held: Image) -> None:
        """Close an idle slot, set the clock that `held` says, reset what it holds, and open it again."""
        self._reopen(slot, held, swap.retime)

    def _reopen(self, slot: int, held: Image, opening: Callable[[SwapContext], None]) -> None:
        target = self._slots[slot]
        load = _Load(slot, held, self._steps.clock.now_s(), self._steps.context(target, held), opening=opening)
        self._steps.move(target, SlotPhase.LOADING, image=held.sha256)
        try:
            swap.close(load.swap)
            target.gate.close_all(swap.SLOT_DRAIN_BOUND_S)
        except BaseException:
            self._steps.force_close(target, SlotPhase.FAULTED)
            raise
        self._finish(load)

    def service(self) -> None:
        """Finish the load whose download has ended, if one has."""
        if self._load is not None and self._load.download is not None and self._load.download.done():
            load, self._load = self._load, None
            self._finish(load)

    def abandon(self) -> None:
        """Close the slot of a load that nobody waits for any more."""
        load, self._load = self._load, None
        if load is None:
            return
        if load.download is not None:
            load.download.cancel()
        swap.force_close(load.swap.slot)
        self._steps.move(self._slots[load.slot], SlotPhase.EMPTY)

    def _ring(self) -> None:
        # Called from the worker thread.
        self._fabric.loop.call_soon_threadsafe(self._fabric.bell.set)

    def _finish(self, load: _Load) -> None:
        target = self._slots[load.slot]
        try:
            if load.download is not None:
                _take_download(load.download)
            load.opening(load.swap)
            target.runner = make_runner(load.slot, target, self._steps.clock, self._arena, load.image.control)
        except swap.StepFailed as error:
            self._fail(load, error.cause, error.detail)
            return
        except Exception as error:
            # A driver failed in a way no step foresaw: the load has ended all the same, and must be handled.
            self._fail(load, Cause.CONFIGURATION_ERROR, f"{type(error).__name__}: {error}")
            return
        self._steps.move(target, SlotPhase.IDLE, image=load.image.sha256)
        target.held = load.image
        target.hardware.fault.arm()
        self._record(EventKind.CONFIGURED, load, Cause.NONE, "")

    def _fail(self, load: _Load, cause: Cause, detail: str) -> None:
        target = self._slots[load.slot]
        swap.force_close(target.hardware)
        self._steps.move(target, SlotPhase.FAULTED)
        self._record(EventKind.CONFIGURATION_FAILED, load, cause, detail)

    def _record(self, kind: EventKind, load: _Load, cause: Cause, detail: str) -> None:
        now_s = self._steps.clock.now_s()
        image = load.image.sha256
        self._log.add(kind, load.slot, at_s=now_s, started_s=load.started_s, image=image, cause=cause, detail=detail)


def _take_download(download: Future[None]) -> None:
    error = download.exception()
    if error is not None:
        raise swap.StepFailed(Cause.CONFIGURATION_ERROR, f"the download failed: {error}")
