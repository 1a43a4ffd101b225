# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The swap: what happens, in which order and why, when a slot gets another module.

One sequence serves every board. It is data: `CLOSING`, then the download, then `OPENING`, each step with its reason. A
module that a reset scrubs passes to another tenant without the download: `CLOSING`, `CLEARING`, `REOPENING`.
The image was checked before the first step. A step that fails ends the sequence, and every ending but the last one
leaves the slot closed: decoupled, in reset, fenced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddy.board.port.clock import Clock
from eddy.board.port.port import Cause
from eddy.board.pynq.fabric import Fabric, SlotFabric
from eddy.core.slots import Image
from eddy.core.units import format_frequency

MAGIC = 0x45444459
"""What the identity block of every module begins with: "EDDY"."""

SLOT_DRAIN_BOUND_S = 1e-3
"""How long outstanding bursts may take to finish before the slot is closed over them, and how long they may
take without the slot after that. The firewall itself bounds what a slot holds up by MEMORY_TIMEOUT (4096 shell cycles,
41 us at 100 MHz) a burst; what takes longer is a memory that does not answer, and the decoupler must close all the
same."""

LOCK_BOUND_S = 10e-3
"""How long a clocking wizard may take to lock. DS925 gives an MMCM 100 us; the rest is margin."""

HOLD_CYCLES = 64
"""Cycles of its own clock for which a module is held in reset to scrub it; `eddy module check` verifies eight."""

CLOCK_BOUND_S = 1e-3
"""How long the slot's clock may take to show itself: CLOCK_TIMEOUT is 1024 shell cycles."""


class StepFailed(Exception):
    """A step of the swap went wrong.

    Args:
        cause: What the event will say.
        detail: For people: what was read, what was expected.
    """

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


@dataclass(frozen=True)
class SwapContext:
    """What the steps work on.

    Attributes:
        slot: Hardware of the slot.
        fabric: Hardware around it.
        clock: Board time, for bounded waits.
        image: What is being loaded; None when the slot is only closed.
        was_open: Whether a module was reachable before the first step.
    """

    slot: SlotFabric
    fabric: Fabric
    clock: Clock
    image: Image | None
    was_open: bool

    def within(self, bound_s: float, condition: Callable[[], bool]) -> bool:
        """Poll until a condition holds; False once `bound_s` of board time has passed without it."""
        deadline_s = self.clock.now_s() + bound_s
        while not condition():
            if self.clock.now_s() >= deadline_s:
                return False
        return True

    def pass_time(self, seconds: float) -> None:
        """Let board time pass; on a simulated board only accesses make it."""
        until_s = self.clock.now_s() + seconds
        while self.clock.now_s() < until_s:
            self.slot.control.drained()


@dataclass(frozen=True)
class SwapStep:
    """One step of the swap: its name, why it is there and why it stands where it does, and the call."""

    name: str
    reason: str
    run: Callable[[SwapContext], None]


def _fence(swap: SwapContext) -> None:
    swap.slot.module.fence()


def _stop(swap: SwapContext) -> None:
    if swap.was_open:
        swap.slot.module.quiesce()


def _break_streams(swap: SwapContext) -> None:
    swap.slot.control.break_streams()


def _drain(swap: SwapContext) -> None:
    swap.slot.control.stop_memory()
    # Out of time is no failure: the decoupler closes over what is left, and the firewall finishes it toward memory.
    swap.within(SLOT_DRAIN_BOUND_S, swap.slot.control.drained)


def _decouple(swap: SwapContext) -> None:
    swap.slot.control.decouple()


def _reset(swap: SwapContext) -> None:
    swap.slot.control.hold_reset()


def _forget_status(swap: SwapContext) -> None:
    swap.fabric.shell.clear_configuration_status()


CLOSING: tuple[SwapStep, ...] = (
    SwapStep("fence", "software must not ask a module that is about to vanish: nothing may answer", _fence),
    SwapStep("stop", "an accelerator with auto-restart would start another item while it drains", _stop),
    SwapStep(
        "streams",
        "a read that waits for another slot would outlast the drain, and that slot's would wait",
        _break_streams,
    ),
    SwapStep(
        "drain",
        "half a burst would block the memory port; the wait is bounded, then the burst is completed by force",
        _drain,
    ),
    SwapStep(
        "decouple",
        "from here on nothing of the slot reaches the shell; before reset, because a reset module may still drive",
        _decouple,
    ),
    SwapStep("reset", "both sides of the crossings are reset together, so that no half transfer survives", _reset),
)
"""From a working slot to a closed one. Also what `close`, `stop` and every fault run."""

PREPARING: tuple[SwapStep, ...] = (
    SwapStep("forget status", "an old error of the port must not be taken for an error of this load", _forget_status),
)


def _check_status(swap: SwapContext) -> None:
    if swap.fabric.shell.configuration_error():
        raise StepFailed(Cause.CONFIGURATION_ERROR, "the configuration port reported an error (PRERROR)")


def _set_clock(swap: SwapContext) -> None:
    image = _image(swap)
    try:
        swap.slot.clock.set_rate(image.clk_hz)
    except ValueError as error:
        message = f"the clocking wizard cannot make {format_frequency(image.clk_hz)}: {error}"
        raise StepFailed(Cause.CLOCK_LOST, message) from error
    if not swap.within(LOCK_BOUND_S, swap.slot.clock.locked):
        raise StepFailed(Cause.CLOCK_LOST, f"the clocking wizard did not lock at {format_frequency(image.clk_hz)}")


def _release(swap: SwapContext) -> None:
    swap.slot.control.clear_fault()
    swap.slot.control.release_reset()
    if not swap.within(CLOCK_BOUND_S, swap.slot.control.clock_running):
        raise StepFailed(Cause.CLOCK_LOST, "the slot's clock does not run after its reset was released")


def _open_control(swap: SwapContext) -> None:
    swap.slot.control.open_control()


def _identify(swap: SwapContext) -> None:
    image, found = _image(swap), swap.slot.module.identity()
    fault = swap.slot.control.fault()
    if fault.cause is not Cause.NONE:
        raise StepFailed(Cause.IDENTITY_MISMATCH, f"the identity block does not answer: {fault.detail}")
    if found.magic != MAGIC:
        raise StepFailed(Cause.IDENTITY_MISMATCH, f"identity magic reads {found.magic:#010x}, expected {MAGIC:#010x}")
    if found.build != image.build:
        raise StepFailed(Cause.IDENTITY_MISMATCH, f"build hash reads {found.build}, expected {image.build}")
    if not swap.slot.module.has_driver(found):
        raise StepFailed(
            Cause.IDENTITY_MISMATCH,
            f"no driver for kind {found.kind} with register map {found.map_major}.{found.map_minor}",
        )


def _no_windows(swap: SwapContext) -> None:
    swap.slot.control.set_windows(())
    swap.slot.control.clear_counters()


def _open_memory(swap: SwapContext) -> None:
    swap.slot.control.open_memory()


def _unfence(swap: SwapContext) -> None:
    swap.slot.module.unfence()


OPENING: tuple[SwapStep, ...] = (
    SwapStep("status", "if the port reports an error, the slot's content is undefined", _check_status),
    SwapStep("clock", "the module's clock rate must be stable before it clocks anything", _set_clock),
    SwapStep("release reset", "reset needs a running clock to reach the flops; the paths are still closed", _release),
    SwapStep("open control", "registers only: an unidentified module must not reach memory", _open_control),
    SwapStep("identify", "a file that loaded well may still contain another module than its manifest says", _identify),
    SwapStep(
        "windows", "none until a launch grants some; the windows of the module before are not inherited", _no_windows
    ),
    SwapStep(
        "open memory",
        "memory and interrupt; everything is refused until a launch, so nothing is reachable yet",
        _open_memory,
    ),
    SwapStep("unfence", "software may talk to it", _unfence),
)
"""From a loaded slot to a working one."""


def _drained(swap: SwapContext) -> None:
    if not swap.slot.control.memory_drained():
        raise StepFailed(Cause.MODULE_ERROR, "memory accesses of its last tenant are still outstanding")


def _hold(swap: SwapContext) -> None:
    swap.pass_time(HOLD_CYCLES / _image(swap).clk_hz)


CLEARING: tuple[SwapStep, ...] = (
    SwapStep("drained", "no memory request of the last tenant may be outstanding for the next one", _drained),
    SwapStep("hold", "a module is scrubbed by so many cycles of reset as it was verified with, and more", _hold),
)
"""Between closing and opening a slot whose module stays."""

REOPENING = tuple(step for step in OPENING if step.run not in (_check_status, _set_clock))
"""From a reset slot that was not loaded to a working one: the port took nothing, and the clock runs as it did."""


def close(swap: SwapContext) -> None:
    """Run the closing steps."""
    for step in CLOSING:
        step.run(swap)


def begin(swap: SwapContext) -> None:
    """Everything before the download."""
    close(swap)
    for step in PREPARING:
        step.run(swap)


def finish(swap: SwapContext) -> None:
    """Everything after the download.

    Raises:
        StepFailed: Something is wrong; the slot is closed again.
    """
    _open(swap, OPENING)


def reopen(swap: SwapContext) -> None:
    """Clear the module of a closed slot, and open it for whoever comes next.

    Raises:
        StepFailed: Something is wrong; the slot is closed again.
    """
    _open(swap, (*CLEARING, *REOPENING))


def retime(swap: SwapContext) -> None:
    """Give the module of a closed slot another clock, reset it, and open it.

    Raises:
        StepFailed: Something is wrong; the slot is closed again.
    """
    clock = next(step for step in OPENING if step.run is _set_clock)
    _open(swap, (CLEARING[0], clock, *CLEARING[1:], *REOPENING))


def _open(swap: SwapContext, steps: tuple[SwapStep, ...]) -> None:
    try:
        for step in steps:
            step.run(swap)
    except BaseException:
        force_close(swap.slot)
        raise


def force_close(slot: SlotFabric) -> None:
    """Close a slot at once, with nothing to wait for: the last resort of every failure path."""
    slot.module.fence()
    slot.control.break_streams()
    slot.control.decouple()
    slot.control.hold_reset()


def _image(swap: SwapContext) -> Image:
    assert swap.image is not None, "only a load opens a slot"
    return swap.image
