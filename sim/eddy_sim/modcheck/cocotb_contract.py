# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The slot contract as cocotb tests; run by `eddy_sim.modcheck.runner`, which reads what they report.

Environment: `EDDY_MODCHECK_MANIFEST` (the module's manifest), `EDDY_MODCHECK_BUILD` (build hash it was built with, hex)
and `EDDY_MODCHECK_REPORT` (file to which each check adds a line of JSON).
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles
from eddy.board.port.port import Access
from eddy.core.slots import Control
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import ArgumentRegister, ModuleManifest, RegisterKind

from eddy_sim.design.boundary import SLOT_DOWN, SLOT_UP
from eddy_sim.modcheck.harness import (
    AP_CTRL,
    CONTINUE,
    DONE,
    GIE,
    IDENTITY,
    IDLE,
    IER,
    ISR,
    MAGIC,
    START,
    Harness,
)
from eddy_sim.modcheck.protocol import AllowedRange

MAX_CYCLES = 50_000
LONGEST_CYCLES = 5_000_000
"""Cycles that an example may take where memory does not hold it up."""
READ_CYCLES = 10
"""Cycles that a read of a register takes at least, on the bench."""
TURN_CYCLES = 2_000
"""How long each pattern of pauses lasts where they take turns."""
STAYS_CYCLES = 200
"""Cycles after which what says done is there to stay."""
Check = Callable[[Any], Awaitable[None]]


class NotShown(AssertionError):
    """A check did not come to what it checks."""


_harnesses: list[Harness] = []
"""The bench of the check that runs."""


def _manifest() -> ModuleManifest:
    return load_module_manifest(os.environ["EDDY_MODCHECK_MANIFEST"])


def _report(check: Check) -> Any:
    """Make a check a cocotb test that says how it went in the report file."""

    @functools.wraps(check)
    async def run(dut: Any) -> None:
        reason, shown = "", True
        _harnesses.clear()
        try:
            await check(dut)
        except BaseException as error:
            shown = not isinstance(error, NotShown)
            # A bus model that gives up ends the test by cancelling it; what the checker saw says why.
            seen = [text for harness in _harnesses for _, text in harness.checker.violations]
            reason = str(error).splitlines()[0] if isinstance(error, Exception) and str(error) else ""
            reason = reason or (seen[0] if seen else f"the bus model gave up ({type(error).__name__})")
            raise
        finally:
            line = {
                "check": check.__name__,
                "what": check.__doc__,
                "passed": not reason,
                "reason": reason,
                "shown": shown,
            }
            with Path(os.environ["EDDY_MODCHECK_REPORT"]).open("a", encoding="utf-8") as report:
                report.write(json.dumps(line) + "\n")

    return cocotb.test(timeout_time=4000, timeout_unit="ms")(run)


async def _bring_up(dut: Any) -> Harness:
    harness = Harness(dut, _manifest())
    _harnesses.append(harness)
    await harness.reset()
    return harness


def _place(harness: Harness) -> dict[str, int]:
    """The example's buffers in memory, each just before a 4 KiB boundary's reach, filled from a fixed seed."""
    rng = random.Random(3)
    values, windows = dict(harness.manifest.example), []
    for i, register in enumerate(r for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER):
        size, address = values[register.name], (0x1000_0FC0 + 0x10_0000 * i) // register.align * register.align
        windows.append(
            AllowedRange(address, size, register.access is not Access.WRITE, register.access is not Access.READ)
        )
        harness.memory.load(address, bytes(rng.randrange(16) for _ in range(size)))
        values[register.name] = address
    harness.grant(*windows)
    return values


async def _outputs(harness: Harness, values: dict[str, int], timed: bool = True) -> list[bytes | int]:
    """What a run has left: in the buffers that it writes, and in result registers; what measures time if asked for."""
    sizes, inputs = dict(harness.manifest.example), harness.manifest.inputs()
    written = (r for r in inputs if r.access in (Access.WRITE, Access.READ_WRITE) and (timed or not r.timed))
    found: list[bytes | int] = [harness.memory.dump(values[r.name], sizes[r.name]) for r in written]
    return [*found, *await _results(harness, timed)]


async def _results(harness: Harness, timed: bool = True) -> list[int]:
    """What stands in result registers, word by word."""
    return [
        await harness.read(register.offset + 4 * word)
        for register in harness.manifest.results()
        if timed or not register.timed
        for word in range(register.word_count)
    ]


_never_ended: list[Harness] = []
"""Benches of this simulation on which the example did not end: those after them wait a tenth of the time."""
LONG_CYCLES = 50_000
"""An example that takes longer is run fewer times: what needs several runs is then done in one."""


@dataclass(frozen=True)
class _Alone:
    """The example's first run, out of reset and with memory that does not hold it up: the others begin from it."""

    cycles: int
    outputs: list[bytes | int]
    untimed: list[bytes | int]
    violations: list[tuple[str, str]]
    moved: bool

    @property
    def is_long(self) -> bool:
        return self.cycles > LONG_CYCLES


_alone: list[_Alone] = []
"""That run, once it was done in this simulation."""
_polled: list[tuple[int, list[bytes | int], list[bytes | int]]] = []
"""Of a long example, what `control` saw of a run out of reset: its cycles, and what it left."""
_again: list[tuple[str, list[bytes | int]]] = []
"""Of a long example, what was wrong with a reset in mid-run, and what the run after it left."""


async def _run_alone(dut: Any) -> _Alone:
    """What the example does when nothing was before it. Of a long one, it is the run after a reset in mid-run: what a
    run out of reset leaves is known of `control`."""
    if not _alone:
        if _polled:
            harness, wrong = await _reset_in_mid_run(dut)
        else:
            harness = await _bring_up(dut)
        values = _place(harness)
        cycles = await _run_example(harness, values)
        left = cycles, await _outputs(harness, values), await _outputs(harness, values, timed=False)
        if _polled:
            _again.append((wrong, left[1]))
            left = _polled[0]
        _alone.append(_Alone(*left, harness.checker.violations, _has_moved(harness)))
    return _alone[0]


async def _reset_in_mid_run(dut: Any) -> tuple[Harness, str]:
    """A bench after a reset in mid-run, and what was wrong with that."""
    harness = await _bring_up(dut)
    await harness.arguments(_place(harness))
    await harness.start()
    await ClockCycles(dut.clk_i, 40)
    dut.rst_ni.value = 0
    await ClockCycles(dut.clk_i, 3)
    names = ("m_axi_awvalid", "m_axi_wvalid", "m_axi_arvalid", "s_axil_bvalid", "s_axil_rvalid", "irq_o")
    high = [name for name in names if int(getattr(dut, name).value)]
    await harness.reset()
    if high:
        return harness, f"{high[0]} is high in reset"
    idle = await harness.read(AP_CTRL) == IDLE
    return harness, "" if idle else "the module is not idle after a reset"


async def _run_example(harness: Harness, values: dict[str, int]) -> int:
    """Run the example, with memory that does not hold it up; answers the cycles it took."""
    try:
        return await harness.run(values, MAX_CYCLES if _never_ended else LONGEST_CYCLES)
    except TimeoutError:
        _never_ended.append(harness)
        raise


def _has_moved(harness: Harness) -> bool:
    """Whether there was a burst since the bench began. A module that is given no address has none to make; what it
    leaves in registers is compared all the same."""
    has_address = any(register.kind is RegisterKind.POINTER for register in harness.manifest.inputs())
    return not has_address or harness.checker.traffic.reads + harness.checker.traffic.writes > 0


@_report
async def ports(dut: Any) -> None:
    """every port of the slot boundary, at its width"""
    for signal in (*SLOT_DOWN, *SLOT_UP):
        port = getattr(dut, signal.name, None)
        assert port is not None, f"port {signal.name} is missing"
        assert len(port) == signal.width, f"port {signal.name} has {len(port)} bits, not {signal.width}"


@_report
async def identity(dut: Any) -> None:
    """the identity block at 0xF000: magic, kind, register map, build hash"""
    harness = await _bring_up(dut)
    words = [await harness.read(IDENTITY + 4 * i) for i in range(4)]
    major, minor = harness.manifest.register_map
    kind = harness.manifest.kind.identity << 16 | major << 8 | minor
    assert words[0] == MAGIC, f"0xF000 reads {words[0]:#010x}, not the magic {MAGIC:#010x}"
    assert words[1] == kind, f"0xF004 reads {words[1]:#010x}; the manifest says {kind:#010x}"
    build = int(os.environ["EDDY_MODCHECK_BUILD"], 16)
    assert words[2] | words[3] << 32 == build, "the build hash is not the parameter BuildHash"
    await harness.write(IDENTITY, 0)
    assert await harness.read(IDENTITY) == MAGIC, "the identity block can be written"


@_report
async def registers(dut: Any) -> None:
    """arguments read back, a byte changes no other by mistake, unused addresses read zero, with pauses on the bus"""
    harness = await _bring_up(dut)
    harness.pause(0.3)
    for register in harness.manifest.inputs():
        for offset, value in register.words(0x0123_4567_89AB_CDEF & (1 << register.width) - 1):
            await harness.write(offset, value)
            got = await harness.read(offset)
            assert got == value, f"{register.name} at {offset:#x} reads {got:#x} after {value:#x} was written"
        kept = (1 << min(register.width, 32)) - 1
        before = register.words(0x89AB_CDEF & kept)[0][1]
        await harness.write_bytes(register.offset + 1, b"\x5a")
        got = await harness.read(register.offset)
        # AXI4-Lite lets a subordinate use the strobes or take every write as a whole word (ARM IHI 0022E, B1.1.3).
        # Boards write whole words.
        assert got in ((before & ~0xFF00 | 0x5A00) & kept, 0x5A00 & kept), (
            f"{register.name} reads {got:#010x} after {before:#010x} was written, and then {0x5A00:#010x} with the"
            " strobe of byte 1 alone: neither that byte nor the whole word"
        )
    for offset in (0x0F00, 0x8000, 0xEFFC):
        await harness.write(offset, 0xFFFF_FFFF)
        assert await harness.read(offset) == 0, f"unused address {offset:#x} does not read zero"


@_report
async def control(dut: Any) -> None:
    """start, done, idle by the manifest's control protocol; GIE, IER, ISR and the level of the interrupt"""
    harness = await _bring_up(dut)
    if harness.manifest.control is Control.NONE:
        await _no_control(dut, harness)
        return
    assert await harness.read(AP_CTRL) == IDLE, "AP_CTRL after reset is not idle alone"
    values = _place(harness)
    await harness.arguments(values)
    await harness.write(IER, 1)
    await harness.write(AP_CTRL, START)
    cycles = await _until_done(harness)
    left = await _results(harness)
    if cycles > LONG_CYCLES:
        outputs = await _outputs(harness, values), await _outputs(harness, values, timed=False)
        _polled.append((cycles, *outputs))
    await ClockCycles(dut.clk_i, STAYS_CYCLES)
    assert left == await _results(harness), "results change after ap_done: it comes before the end"
    stays = bool(await harness.read(AP_CTRL) & DONE)
    await harness.write(AP_CTRL, CONTINUE)
    await ClockCycles(dut.clk_i, STAYS_CYCLES)
    after = await harness.read(AP_CTRL)
    if harness.manifest.control is Control.HS:
        hint = "" if after & DONE else ", but goes with ap_continue: say control: chain"
        assert not stays, f"ap_done does not clear on read{hint}"
    else:
        assert stays, "ap_done clears on read, without ap_continue: say control: hs"
    assert not after & DONE, "ap_done stays after ap_continue"
    assert not after & START, "ap_start stays set after the run"
    assert after & IDLE, "ap_idle is not set after the run"
    await _interrupt(dut, harness)


async def _until_done(harness: Harness) -> int:
    """Ask again and again, the longer it takes, the more seldom; answers the cycles that passed."""
    passed = 0
    while passed < LONGEST_CYCLES:
        seen = await harness.read(AP_CTRL)
        if seen & DONE:
            return passed
        assert not seen & IDLE, "ap_idle is set while the module runs"
        waits = passed // 64
        if waits:
            await ClockCycles(harness.dut.clk_i, waits)
        passed += READ_CYCLES + waits
    raise AssertionError("ap_done never came")


async def _interrupt(dut: Any, harness: Harness) -> None:
    """The interrupt of a run that has ended, which nobody has taken yet. Reading ISR may clear it, or writing ones."""
    assert not int(dut.irq_o.value), "the interrupt is raised although GIE is clear"
    await harness.write(GIE, 1)
    await ClockCycles(dut.clk_i, 4)
    assert int(dut.irq_o.value), "the interrupt is not a level of GIE, IER and ISR: the run's end did not raise it"
    events = await harness.read(ISR)
    assert events & 1, "the done event did not set ISR bit 0"
    await harness.write(ISR, events)
    assert await harness.read(ISR) == 0, "writing 1 to a set ISR bit does not clear it"
    await ClockCycles(dut.clk_i, 4)
    assert not int(dut.irq_o.value), "the interrupt stays after ISR was cleared"


async def _no_control(dut: Any, harness: Harness) -> None:
    await harness.write(IER, 1)
    await harness.write(GIE, 1)
    await harness.write(AP_CTRL, START)
    for _ in range(STAYS_CYCLES):
        seen = await harness.read(AP_CTRL)
        assert not seen & DONE, "it says done after a start: it has a control protocol; say control: hs or chain"
        assert not int(dut.irq_o.value), "it interrupts after a start: it has a control protocol; say which"


@_report
async def protocol(dut: Any) -> None:
    """AXI handshakes and bursts on the memory port"""
    alone = await _run_alone(dut)
    rules = ("stable", "burst", "last", "reset", "done")
    found = [text for rule, text in alone.violations if rule in rules]
    assert not found, found[0]
    assert alone.moved, "the example moved no data"


def _moved(alone: _Alone) -> None:
    """See that there was a burst: without one, nothing follows of bursts."""
    if not alone.moved:
        raise NotShown("the example moved no data")


@_report
async def backpressure(dut: Any) -> None:
    """the same results and no violation with pauses on all channels"""
    alone = await _run_alone(dut)
    _moved(alone)
    if alone.is_long:
        wrong = (await _run_long(dut, alone)).paused
        assert not wrong, wrong
        return
    harness = await _bring_up(dut)
    # A beat in ten cycles, and every request waits as long.
    most = max(MAX_CYCLES, 4 * alone.cycles)
    for pause, chance, longer in _patterns(harness):
        values = _place(harness)
        pause(chance, seed=5)
        await harness.run(values, longer * most)
        where = "" if pause == harness.pause else " that write"
        assert await _outputs(harness, values, timed=False) == alone.untimed, (
            f"results differ with pauses in {chance:.0%} of the cycles{where}"
        )
    found = harness.checker.of(("stable", "burst", "last", "done"))
    assert not found, found[0]


Pattern = tuple[Callable[..., None], float, int]
"""How memory pauses, in what share of the cycles, and how much longer that may take."""


def _patterns(harness: Harness) -> tuple[Pattern, ...]:
    return (harness.pause, 0.3, 20), (harness.pause, 0.8, 20), (harness.pause_writes, 0.9, 4)


@dataclass(frozen=True)
class _LongRuns:
    """A long example with memory that fails, and then once more with memory that pauses: what was wrong with each."""

    failed: str
    paused: str


_long: list[_LongRuns] = []
"""Those runs, once they were done in this simulation."""


async def _run_long(dut: Any, alone: _Alone) -> _LongRuns:
    """The two runs that a long example has for `backpressure` and `errors`: the one that pauses follows the one that
    fails, without a reset between them, and is to be as if nothing had been before it."""
    if not _long:
        harness = await _bring_up(dut)
        values = _place(harness)
        pointers = [r for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER]
        failed = await _fail(harness, values, [pointers] if pointers else [])
        before = len(harness.checker.violations)
        paused = await _run_in_turns(harness, alone)
        new = [
            text for rule, text in harness.checker.violations[before:] if rule in ("stable", "burst", "last", "done")
        ]
        if not failed and await harness.status():
            failed = "the status of a clean run is not zero after a failed one"
        _long.append(_LongRuns(failed, paused or (new[0] if new else "")))
    return _long[0]


async def _run_in_turns(harness: Harness, alone: _Alone) -> str:
    """Run a long example once, its pauses each of the patterns in turn; answers what was wrong."""
    values = _place(harness)
    patterns = [partial(pause, chance, seed=5) for pause, chance, _ in _patterns(harness)]

    async def change() -> None:
        for pattern in itertools.cycle(patterns):
            pattern()
            await ClockCycles(harness.dut.clk_i, TURN_CYCLES)

    changing = cocotb.start_soon(change())
    await harness.run(values, 80 * max(MAX_CYCLES, alone.cycles))
    changing.cancel()
    harness.pause(0.0)
    same = await _outputs(harness, values, timed=False) == alone.untimed
    return "" if same else "results differ with pauses, after a run whose memory failed"


async def _fail(harness: Harness, values: dict[str, int], groups: Sequence[Sequence[ArgumentRegister]]) -> str:
    """Run the example with memory that fails at the first bytes of buffers, a run a group; answers what was wrong."""
    for group in groups:
        for memory_fails, other in (("fail_reads", Access.WRITE), ("fail_writes", Access.READ)):
            failing = (range(values[r.name], values[r.name] + 8) for r in group if r.access is not other)
            setattr(harness.memory, memory_fails, {address for each in failing for address in each})
        before = harness.memory.failed
        await _run_example(harness, values)
        if harness.manifest.status and harness.memory.failed > before and not await harness.status():
            return f"an error at {', '.join(r.name for r in group)} leaves the status zero"
    harness.memory.fail_reads = harness.memory.fail_writes = set()
    if groups and not harness.memory.failed:
        return "the example touches the first bytes of no buffer: no error was given"
    return ""


@_report
async def windows(dut: Any) -> None:
    """only the granted buffers are touched, and each only in its direction"""
    alone = await _run_alone(dut)
    _moved(alone)
    found = [text for rule, text in alone.violations if rule == "window"]
    assert not found, found[0]


@_report
async def errors(dut: Any) -> None:
    """a run ends although memory answers SLVERR, and is flagged where there is a status register"""
    alone = await _run_alone(dut)
    _moved(alone)
    if alone.is_long:
        # All buffers fail in one run.
        found = (await _run_long(dut, alone)).failed
        assert not found, found
        return
    harness = await _bring_up(dut)
    values = _place(harness)
    pointers = [r for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER]
    found = await _fail(harness, values, [[r] for r in pointers])
    assert not found, found
    await _run_example(harness, values)
    assert await harness.status() == 0, "the status of a clean run is not zero after a failed one"


@_report
async def reset(dut: Any) -> None:
    """a reset in mid-run leaves nothing behind: no VALID, and the next run is right"""
    alone = await _run_alone(dut)
    _moved(alone)
    if not _again:
        harness, wrong = await _reset_in_mid_run(dut)
        assert not wrong, wrong
        values = _place(harness)
        await _run_example(harness, values)
        _again.append((wrong, await _outputs(harness, values)))
    wrong, outputs = _again[0]
    assert not wrong, wrong
    assert outputs == alone.outputs, "results after a reset in mid-run differ"
