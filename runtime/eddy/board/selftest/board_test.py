# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy board-test`: what a board does, step by step, through the board port alone, with the values that it measured.

A step that cannot be run says so and why; it never counts as passed. The report is plain data, to be signed.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eddy.board.port.port import Access, BoardEvent, BoardPort, EventKind, Grant, Launch
from eddy.board.port.profile import load_profile
from eddy.board.pynq.check_bypass import CheckBypass
from eddy.board.selftest.board_test_dram import DRAM_MAP, HARDWARE, SIMULATED, dram_map
from eddy.board.selftest.board_test_past import CLOCKS, DAMAGED, damaged_image, highest_clocks
from eddy.board.selftest.board_test_steps import StepOutcome, StepReport, load, load_failure, next_event
from eddy.board.selftest.sensors import powers, temperatures
from eddy.core.errors import EddyError
from eddy.core.units import format_bytes, format_duration, format_rate

ITEM_MODULE = "level_shift"
"""The module of the memory step: it moves bytes of 8 x 8 blocks down by 128, which is known without any other code."""
_IN, _OUT, _WIDTH, _HEIGHT, _STATUS = 0x10, 0x1C, 0x28, 0x30, 0x38
_SIDE = 64
_ITEM_BOUND_S = 1.0
HOT_C = 85.0
"""Above this a commercial-grade part is outside of its range (DS925)."""


@dataclass(frozen=True)
class SelfTestEnvironment:
    """What is asked beside the board port.

    Attributes:
        wall_s: A monotonic clock of the machine.
        sleep: Lets it pass; None where board time does not pass by itself.
        sysfs: Where the kernel shows temperature and power, `/sys/class`.
    """

    wall_s: Callable[[], float]
    sleep: Callable[[float], None] | None
    sysfs: Path


def run(
    board: BoardPort, swaps: int, around: SelfTestEnvironment, past: CheckBypass | None = None
) -> Iterator[StepReport]:
    """Run every step; each is given as soon as it has ended. Nothing else may use the board meanwhile.

    Args:
        board: The board; its slots are loaded and closed.
        swaps: How many loads the last step makes.
        around: What is asked beside it.
        past: The way past its checks; None: the steps that need one are not run.
    """
    steps: tuple[tuple[str, Callable[[], StepReport]], ...] = (
        ("shell", lambda: _shell(board)),
        ("images", lambda: _images(board)),
        ("time", lambda: _time(board, around)),
        ("memory", lambda: _memory(board)),
        ("load time", lambda: _load_time(board)),
        ("coherency", lambda: _coherency(board)),
        ("swaps", lambda: _swaps(board, swaps)),
        (DRAM_MAP, lambda: _dram_map(board, around)),
        ("temperature", lambda: _temperature(around.sysfs)),
        ("power", lambda: _power(around.sysfs)),
    )
    if past is not None:
        steps += (
            (DAMAGED, lambda: damaged_image(board, past)),
            (CLOCKS, lambda: highest_clocks(board, past)),
        )
    for name, step in steps:
        try:
            yield step()
        except EddyError as error:
            yield StepReport(name, StepOutcome.FAIL, f"{error.code}: {error.message}")
    if past is None:
        yield from LEFT_OUT


LEFT_OUT = tuple(
    StepReport(step, StepOutcome.NOT_RUN, f"{why}: say --past-checks, with boardd stopped, on a board without tenants")
    for step, why in (
        (DAMAGED, "takes a damaged bitstream past the checks of boardd"),
        (CLOCKS, "clocks modules above the rate they were built for"),
    )
)
"""What is not run unless it is asked for, so that nobody takes it for passed."""


def report(board: BoardPort, steps: tuple[StepReport, ...], at_unix_s: float) -> dict[str, Any]:
    """The report as plain data, without a signature."""
    described = board.describe()
    return {
        "board": described.board,
        "profile": described.profile,
        "shell": described.shell,
        "at_unix_s": at_unix_s,
        "passed": not any(step.outcome is StepOutcome.FAIL for step in steps),
        "steps": [{**asdict(step), "outcome": step.outcome.value} for step in steps],
    }


def canonical(document: Mapping[str, Any]) -> bytes:
    """The bytes a report's signature is over; they say what they are, so that they pass for nothing else."""
    unsigned = {key: value for key, value in document.items() if key != "signature"}
    return b"eddy board-test\n" + json.dumps(unsigned, sort_keys=True, separators=(",", ":")).encode()


def _shell(board: BoardPort) -> StepReport:
    described = board.describe()
    found = f"shell {described.shell}, {len(described.slots)} slots, {format_bytes(described.arena_bytes)} arena"
    measured = {"slots": float(len(described.slots)), "arena_bytes": float(described.arena_bytes)}
    return StepReport("shell", StepOutcome.PASS, found, measured)


def _images(board: BoardPort) -> StepReport:
    images = board.images()
    without = [slot.index for slot in board.describe().slots if not any(image.slot == slot.index for image in images)]
    if without:
        return StepReport("images", StepOutcome.FAIL, f"no image for slots {without}; install the profile's bitstreams")
    return StepReport("images", StepOutcome.PASS, f"{len(images)} images", {"images": float(len(images))})


def _time(board: BoardPort, around: SelfTestEnvironment) -> StepReport:
    if around.sleep is None:
        return StepReport("time", StepOutcome.NOT_RUN, "board time of a simulated board is not wall time")
    wall_s, board_s = around.wall_s(), board.now_s()
    around.sleep(2.0)
    ratio = (board.now_s() - board_s) / (around.wall_s() - wall_s)
    apart = abs(ratio - 1)
    outcome = StepOutcome.PASS if apart < 1e-3 else StepOutcome.FAIL
    found = f"board time is {ratio:.6f} of wall time; the shell's clock is not the profile's" if apart >= 1e-3 else ""
    clk_hz = board.describe().clk_hz * ratio
    return StepReport("time", outcome, found or f"within {apart * 1e6:.0f} ppm", {"shell_hz": clk_hz})


def _memory(board: BoardPort) -> StepReport:
    """Words that tell their own place, through the CPU alone, over a quarter of the arena."""
    size = min(board.describe().arena_bytes // 4, 64 << 20) & ~4095
    buffer = board.allocate(size, "board-test")
    try:
        words = np.arange(size // 4, dtype=np.uint32) * np.uint32(2654435761)
        board.write(buffer.id, 0, words.tobytes())
        back = np.frombuffer(board.read(buffer.id, 0, size), np.uint32)
        wrong = int((words != back).sum())
    finally:
        board.free(buffer.id)
    outcome = StepOutcome.FAIL if wrong else StepOutcome.PASS
    return StepReport("memory", outcome, f"{wrong} of {size // 4} words wrong", {"bytes": float(size)})


def _load_time(board: BoardPort) -> StepReport:
    """Every image once; the rate by the slope over sizes where they differ, else by the mean."""
    sizes, times = [], []
    for image in board.images():
        event, took_s = load(board, image)
        if wrong := load_failure(event, image):
            return StepReport("load time", StepOutcome.FAIL, wrong)
        sizes.append(float(image.bytes))
        times.append(took_s)
    measured = {"loads": float(len(times)), "mean_s": statistics.fmean(times), "longest_s": max(times)}
    if len(set(sizes)) > 1:
        slope, fixed_s = np.polyfit(sizes, times, 1)
        measured |= {"bytes_per_s": 1 / float(slope) if slope > 0 else math.nan, "fixed_s": float(fixed_s)}
    planned = board.describe().configuration_bytes_per_s
    found = f"{len(times)} loads, {format_duration(measured['mean_s'])} each; the profile plans {format_rate(planned)}"
    return StepReport("load time", StepOutcome.PASS, found, measured)


def _coherency(board: BoardPort) -> StepReport:
    """Items over one pair of buffers whose contents change each time: a line that was kept too long shows."""
    image = next((image for image in board.images() if image.module == ITEM_MODULE), None)
    if image is None:
        return StepReport("coherency", StepOutcome.NOT_RUN, f"no image of {ITEM_MODULE}, whose results are known")
    if wrong := load_failure(load(board, image)[0], image):
        return StepReport("coherency", StepOutcome.FAIL, wrong)
    source, target = (board.allocate(size * _SIDE * _SIDE, "board-test") for size in (1, 2))
    times = []
    try:
        for seed in range(16):
            tile = np.random.default_rng(seed).integers(0, 256, (_SIDE, _SIDE), np.uint8)
            board.write(source.id, 0, tile.tobytes())
            event = _item(board, image.slot, source.address, target.address, (source.id, target.id), seed)
            if event is None or event.kind is not EventKind.ITEM_DONE:
                said = "nothing" if event is None else f"{event.cause.value} {event.detail}"
                return StepReport("coherency", StepOutcome.FAIL, f"item {seed} did not end well: {said}")
            times.append(event.at_s - event.started_s)
            blocks = tile.reshape(_SIDE // 8, 8, _SIDE // 8, 8).transpose(0, 2, 1, 3).astype(np.int16) - 128
            found = np.frombuffer(board.read(target.id, 0, target.bytes), np.int16)
            if wrong_words := int((found != blocks.reshape(-1)).sum()):
                return StepReport(
                    "coherency", StepOutcome.FAIL, f"item {seed}: {wrong_words} of {found.size} values wrong"
                )
    finally:
        board.free(source.id)
        board.free(target.id)
    return StepReport(
        "coherency", StepOutcome.PASS, f"{len(times)} items right", {"item_mean_s": statistics.fmean(times)}
    )


def _item(
    board: BoardPort, slot: int, source: int, target: int, buffers: tuple[int, int], number: int
) -> BoardEvent | None:
    registers = [(_WIDTH, _SIDE), (_HEIGHT, _SIDE)]
    for offset, address in ((_IN, source), (_OUT, target)):
        registers += [(offset, address & 0xFFFF_FFFF), (offset + 4, address >> 32)]
    grants = (Grant(buffers[0], Access.READ), Grant(buffers[1], Access.WRITE))
    board.launch(slot, Launch(f"board-test-{number}", tuple(registers), grants, _ITEM_BOUND_S, status=_STATUS))
    return next_event(board, 2 * _ITEM_BOUND_S)


def _swaps(board: BoardPort, swaps: int) -> StepReport:
    images, times = board.images(), []
    for number in range(swaps):
        image = images[number % len(images)]
        event, took_s = load(board, image)
        if wrong := load_failure(event, image):
            return StepReport("swaps", StepOutcome.FAIL, f"swap {number + 1} of {swaps}: {wrong}")
        times.append(took_s)
    if not times:
        return StepReport("swaps", StepOutcome.NOT_RUN, "none were asked for (--swaps)")
    longest = sorted(times)[-max(1, len(times) // 100)]
    measured = {"swaps": float(swaps), "mean_s": statistics.fmean(times), "p99_s": longest}
    return StepReport("swaps", StepOutcome.PASS, f"{swaps} of {swaps} loads came up", measured)


def _dram_map(board: BoardPort, around: SelfTestEnvironment) -> StepReport:
    profile = load_profile(board.describe().profile)
    if profile.cache_bytes:
        return StepReport(DRAM_MAP, StepOutcome.NOT_RUN, "a cache in front of memory answers reads of the same words")
    return dram_map(board, profile.dram, SIMULATED if around.sleep is None else HARDWARE)


def _temperature(sysfs: Path) -> StepReport:
    values = temperatures(sysfs)
    if not values:
        return StepReport("temperature", StepOutcome.NOT_RUN, "the kernel shows none")
    outcome = StepOutcome.PASS if max(values) < HOT_C else StepOutcome.FAIL
    return StepReport("temperature", outcome, f"{max(values):.1f} degrees Celsius", {"hottest_c": max(values)})


def _power(sysfs: Path) -> StepReport:
    values = powers(sysfs)
    if not values:
        return StepReport("power", StepOutcome.NOT_RUN, "the kernel shows none")
    return StepReport("power", StepOutcome.PASS, f"{sum(values):.2f} W on {len(values)} rails", {"watts": sum(values)})
