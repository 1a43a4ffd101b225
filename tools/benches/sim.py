# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast the simulated board is: shell cycles and register accesses a second, beside the same work through cocotb.

Each figure is the best of several runs, for each second of processor time (everything here is one thread), so that
other programs on the machine disturb it least. What is measured:

- *evaluated*: the 4-slot shell, all clocks running, evaluated at every edge, nothing skipped; idle, and with modules
  that flood memory, in one slot and in all four. A slot's path, or the CPU's bus, in which nothing changes goes without
  its clocks, as it always does; *every flop clocked* is without that;
- *skipping*: the same shell with exact skipping, idle, and over a run in which a module works one part in fifty;
- *register reads*: of the shell's own bank, through `SimBoard`, through stock `pynq.MMIO`, and through cocotb with
  cocotbext-axi on the same shell.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eddy.board.port.profile import load_profile
from eddy_drivers.regs import window
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour, rogue
from eddy_sim.design import build
from eddy_sim.design.bench import Bench, BenchFailed
from eddy_sim.design.bench_process import simulate
from eddy_sim.design.shims import WRAPPER_TOP, wrapper_source
from eddy_sim.tools.products import ROOT

from benches import tell

FOLDER = Path(__file__).resolve().parents[1]
PROFILE = "kv260"
LEAST = {
    "evaluated idle, cycles/s": 100,
    "evaluated flooded, cycles/s": 15,
    "evaluated 4 slots flooded, cycles/s": 5,
    "skipping idle, cycles/s": 1000,
    "skipping now and then, cycles/s": 100,
    "pynq.MMIO reads/s": 40,
}
"""How many times as many a second as through cocotb on the same shell, in the same run."""
CYCLE_FS = 10**7


def best(work: Callable[[], float], runs: int = 5) -> float:
    """The highest rate of several runs."""
    return max(work() for _ in range(runs))


def cycles_per_s(board: SimBoard, cycles: int) -> float:
    """Let shell cycles pass; how many a second of processor time."""
    begin = time.process_time()
    board.step_until_fs(board.now_fs + cycles * CYCLE_FS)
    return cycles / (time.process_time() - begin)


def load_rogue(board: SimBoard, behaviour: Behaviour, slot: int = 0) -> int:
    """Bring a module up in a slot, open to one page; answers the page's address."""
    board.start_config(slot, build.build_rogue(tell), 10_000, rogue(behaviour))
    board.step_until_fs(board.now_fs + 10**12, StopReason.CONFIG)
    page = board.profile.arena.base + slot * 0x1000
    for offset, value in ((0x100, page >> 12), (0x104, page >> 12), (0x108, 0x1_0003), (0x4, 0xF)):
        board.write32(window.CONTROL.at(slot) + offset, value)
    board.step_until_fs(board.now_fs + 100 * CYCLE_FS)
    return page


def start(board: SimBoard, page: int, slot: int = 0) -> None:
    """Start a slot's module on a page."""
    for offset, value in ((0x10, page), (0x14, 0), (0x0, 1)):
        board.write32(window.MODULE.at(slot) + offset, value)


def evaluated() -> dict[str, float]:
    """The shell evaluated at every edge, idle and with one or four slots flooding memory."""
    rates = {}
    for name, resting in (("", True), (" every flop clocked,", False)):
        with SimBoard(load_profile(PROFILE), skipping=False, resting=resting, progress=tell) as board:
            rates[f"evaluated idle,{name} cycles/s"] = best(lambda: cycles_per_s(board, 300_000))
            start(board, load_rogue(board, Behaviour.FLOOD))
            rates[f"evaluated flooded,{name} cycles/s"] = best(lambda: cycles_per_s(board, 300_000))
            for slot in (1, 2, 3):
                start(board, load_rogue(board, Behaviour.FLOOD, slot), slot)
            rates[f"evaluated 4 slots flooded,{name} cycles/s"] = best(lambda: cycles_per_s(board, 200_000))
    return rates


def skipping() -> dict[str, float]:
    """Exact skipping: nothing to do at all, and a module that is started every 5000 cycles."""

    def now_and_then() -> float:
        begin, cycles = time.process_time(), board.shell_cycles
        for _ in range(100):
            start(board, page)
            board.step_until_fs(board.now_fs + 5_000 * CYCLE_FS)
        return (board.shell_cycles - cycles) / (time.process_time() - begin)

    with SimBoard(load_profile(PROFILE), progress=tell) as board:
        page = load_rogue(board, Behaviour.SOUND)
        idle = best(lambda: cycles_per_s(board, 100_000_000))
        return {"skipping idle, cycles/s": idle, "skipping now and then, cycles/s": best(now_and_then)}


def reads_per_s(read: Callable[[], object], count: int) -> float:
    """Calls a second of processor time."""
    begin = time.process_time()
    for _ in range(count):
        read()
    return count / (time.process_time() - begin)


def register_reads() -> dict[str, float]:
    """Reads of the shell's first register, directly and through stock PYNQ."""
    with SimBoard(load_profile(PROFILE), progress=tell) as board:
        direct = best(lambda: reads_per_s(lambda: board.read32(0), 30_000))
    os.environ["EDDY_PROFILE"] = PROFILE
    import eddy_sim.device  # noqa: F401 - importing it makes it PYNQ's device
    from pynq import MMIO

    mmio = MMIO(window.BASE, window.SHELL.bytes)
    return {
        "SimBoard reads/s": direct,
        "pynq.MMIO reads/s": best(lambda: reads_per_s(lambda: mmio.read(0), 30_000)),
    }


def through_cocotb() -> dict[str, float]:
    """Idle cycles and reads of the same shell in cocotb."""
    tell("cocotb on the same shell")
    sys.path.insert(0, str(FOLDER))  # the runner hands it on to the simulation
    shell = ROOT / "hw" / "top" / "shell" / "shell.f"
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / f"{WRAPPER_TOP}.sv"
        # All clocks together, as on the other side of the comparison.
        text = wrapper_source(with_build_hash=True)
        for clock, width, value in (
            ("slot_clk_i", "[NumSlots-1:0] ", "{NumSlots{clk_i}}"),
            ("path_clk_i", "[NumSlots-1:0] ", "{NumSlots{clk_i}}"),
            ("bus_clk_i", "", "clk_i"),
            ("icap_clk_i", "", "clk_i"),
        ):
            text = text.replace(f"  input  logic {width}{clock},\n", "")
            text = text.replace(f".{clock}({clock})", f".{clock}({value})")
        top.write_text(text, encoding="utf-8")
        bench = Bench(WRAPPER_TOP, shell, sources=(top,), parameters={"NumSlots": 4})
        result, log = Path(folder) / "rates.json", Path(folder) / "log"
        # Not `bench.run`: random start values and checks before reset belong to a test, not to a race.
        simulate(
            *(bench.build(), WRAPPER_TOP, "cocotb_speed", Path(folder) / "results.xml", log),
            plusargs=["+verilator+rand+reset+0"],
            environment={"EDDY_BENCH_RESULT": str(result)},
        )
        if not result.is_file():
            raise BenchFailed(f"cocotb measured nothing:\n{log.read_text(encoding='utf-8', errors='replace')}")
        rates: dict[str, float] = json.loads(result.read_text(encoding="utf-8"))
    return rates


def ratio(rates: dict[str, float], name: str) -> float:
    """How many times as many a second as through cocotb."""
    return rates[name] / rates["cocotb reads/s" if "reads" in name else "cocotb idle, cycles/s"]


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Rates, and how many times as many as through cocotb."""
    rates = {**evaluated(), **skipping(), **register_reads(), **through_cocotb()}
    return {**rates, "over cocotb": {name: ratio(rates, name) for name in rates if not name.startswith("cocotb")}}


def missed(found: dict[str, Any]) -> list[str]:
    """The figures below their goals."""
    return [name for name, goal in LEAST.items() if found["over cocotb"][name] < goal]


def lines(found: dict[str, Any]) -> list[str]:
    """Rate, and ratio to cocotb doing the same."""
    over = {name: f"{times:>12,.0f}x cocotb" for name, times in found["over cocotb"].items()}
    return [f"{name:<54}{rate:>18,.0f}{over.get(name, '')}" for name, rate in found.items() if name != "over cocotb"]
