# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What part of the memory's bandwidth the eight cores of one cluster reach: lines read one after the other.

Everything is in board time of the RTL, so the load of this machine does not matter. Every lane of every warp reads a
word of a line of its own, so that a core asks for as many lines as it can have under way. Measured on the profile `hsm`
(the memory of [001] Table 1, slowed to a shell's port), once with the requests that shells admit where nothing is
said, once with those of the profile; then behind a second-level cache, directly before the memory controller, with one
line of data a core under way and with as many as cores have. With `--l2`, only the latter; with `--json`, one object on
standard output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benches import ROOT, tell

sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from eddy.board.images.signing import Trust  # noqa: E402
from eddy.board.port.port import Access, EventKind, Grant, KernelLaunch, Launch  # noqa: E402
from eddy.board.port.profile import Profile, load_profile  # noqa: E402
from eddy.board.remote.factory import open_device  # noqa: E402
from eddy.gpu.programs.layout import REGION_BASE  # noqa: E402
from eddy.packages.manifests import load_module_manifest  # noqa: E402
from eddy_sim.boards.dram import dram_parameters  # noqa: E402
from eddy_sim.design import bitstreams, build  # noqa: E402
from eddy_sim.device import SimClock, SimDevice  # noqa: E402
from eddy_sim.gpu.assemble import program  # noqa: E402
from eddy_sim.gpu.cluster_build import FILELIST  # noqa: E402
from eddy_sim.gpu.dram_cluster import DramCluster, build_dram_cluster  # noqa: E402
from eddy_sim.tools.filelist import read_filelist  # noqa: E402
from eddy_studies.hsm import rtl  # noqa: E402

MODULE = ROOT / "bitstreams" / "de10pro" / "gpu_8c4w4tx_110mhz"
CORES, WARPS, LANES = 8, 4, 4
DATA = 0x1_0000
"""Where in the region the lines begin that are read."""
LINES_EACH = 24
"""Lines each lane reads."""
ONE_LINE = (".DataReads(DataReads)", ".DataReads(1)")
"""What makes a core ask for one line of data after the other."""
LIMIT_CYCLES = 10_000_000
PROGRAM = """
.section .text.init
.globl _start
_start:
  csrr t0, 0xfc1
  la t1, 1f
  .insn r 0x0b, 1, 0, x0, t0, t1
1: li t0, -1
  .insn r 0x0b, 0, 0, x0, t0, x0
  csrr a0, 0xcc2
  slli a0, a0, 2
  csrr a1, 0xcc1
  add a0, a0, a1
  slli a0, a0, 2
  csrr a1, 0xcc0
  add a0, a0, a1
  li a1, {lane_bytes}
  mul a0, a0, a1
  li a1, {data}
  add a0, a0, a1
  li a2, {step_bytes}
  li a3, {lines}
2: lw a4, 0(a0)
  add a0, a0, a2
  addi a3, a3, -1
  bnez a3, 2b
  .insn r 0x0b, 0, 0, x0, x0, x0
"""
"""Every lane reads `lines` words, `step_bytes` apart, from `lane_bytes` times its number on."""
LANES_IN_ALL = CORES * WARPS * LANES
STREAMS = {
    "one stream": (64, 64 * LANES_IN_ALL),
    "a stream a lane": (64 * LINES_EACH, 64),
}
"""What lanes read: lane_bytes and step_bytes. One stream finds rows open; streams of their own meet others'."""


def code(stream: str) -> bytes:
    """The program of a kind of reading."""
    lane_bytes, step_bytes = STREAMS[stream]
    data = REGION_BASE + DATA
    return (
        program(PROGRAM.format(lane_bytes=lane_bytes, step_bytes=step_bytes, data=data, lines=LINES_EACH))
        .segments[0]
        .data
    )


@dataclass(frozen=True)
class ReachedBandwidth:
    """What the cores reached: part of the memory's peak, and row-buffer hit rate."""

    share: float
    row_hit_rate: float


def measure(profile: Profile, stream: str, cores: int = CORES) -> ReachedBandwidth:
    """Run a kind of reading on so many cores of the board's cluster."""
    module = load_module_manifest(MODULE)
    files = bitstreams.list_or_build(profile, found=[module])
    device = SimDevice(profile, coherent=False)
    board = open_device(files.overlay, device, SimClock(device), profile, files.overlay.parent, Trust(False))
    try:
        board.load(0, next(image for image in board.images() if image.module == module.module).sha256)
        (loaded,) = board.wait(board.now_s() + 1.0)
        if loaded.kind is not EventKind.CONFIGURED:
            raise SystemExit(f"the cluster was not loaded: {loaded}")
        board.wait(0.0, loaded.seq)
        region = board.allocate(DATA + 64 * CORES * WARPS * LANES * LINES_EACH, "bench")
        board.write(region.id, 0, code(stream))
        kernel = KernelLaunch(region.id, REGION_BASE, 0, tuple(range(cores)))
        grants = (Grant(region.id, Access.READ_WRITE),)
        board.launch(0, Launch("stream", (), grants, 1.0, kernel=kernel, account="bench"))
        (ended,) = board.wait(board.now_s() + 1.0)
        if ended.kind is not EventKind.ITEM_DONE:
            raise SystemExit(f"the stream did not end well: {ended}")
        used = board.sharing(0).of("bench")
        took_s = max(report.counters.cycles for report in ended.cores) / module.clk_hz
        return ReachedBandwidth(used.bytes / took_s / profile.dram.bytes_per_s, used.row_hit_rate)
    finally:
        board.release()


def boards() -> dict[str, Profile]:
    """The boards that are compared, by name."""
    hsm = load_profile("hsm")
    slots = tuple(replace(slot, clk_hz=load_module_manifest(MODULE).clk_hz) for slot in hsm.slots)
    wide = replace(hsm, slots=slots)
    narrow = replace(wide, name="hsm-narrow", memory_requests=8, memory_beats=32)
    usual = replace(narrow, name="hsm-kv260", dram=replace(load_profile("kv260").dram, base=0, bytes=hsm.dram.bytes))
    return {"default shell, kv260's memory": usual, "default shell": narrow, "hsm": wide}


def one_line(folder: Path) -> tuple[Path, ...]:
    """The sources of a cluster whose cores have one line of data under way, edited in a folder."""
    found = []
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        if path.name == "gpu_cluster.sv" and text.count(ONE_LINE[0]) != 1:
            raise SystemExit(f"{path} does not have {ONE_LINE[0]} once: say in tools/benches/bandwidth.py what it has")
        if ONE_LINE[0] in text:
            path = folder / path.name
            path.write_text(text.replace(*ONE_LINE), encoding="utf-8")
        found.append(path)
    return tuple(found)


def behind_l2(library: Path, stream: str) -> ReachedBandwidth:
    """Run a kind of reading on all cores of the cluster of the slowdown study."""
    machine = DramCluster(rtl.SHAPE, dram_parameters(rtl.MEMORY), clk_hz=rtl.CLK_HZ, library=library)
    loaded = code(stream)
    machine.memory[: len(loaded)] = list(loaded)
    machine.assign_cores(range(CORES), 0, 0)
    began = machine.cycles
    machine.start(REGION_BASE, 0, range(CORES))
    while machine.run(LIMIT_CYCLES):
        if machine.cycles - began > LIMIT_CYCLES:
            raise SystemExit(f"{stream} behind the second level did not end within {LIMIT_CYCLES} cycles")
    if machine.faults():
        raise SystemExit(f"{stream} behind the second level did not end well: {machine.faults()[0]}")
    served = machine.traffic(0)
    peak = rtl.MEMORY.bytes_per_s / rtl.CLK_HZ
    return ReachedBandwidth(
        served.bytes / (machine.cycles - began) / peak, served.row_hits / (served.reads + served.writes)
    )


def second_level() -> dict[str, ReachedBandwidth]:
    """What is reached behind a second-level cache, with one line of data a core under way and with more."""
    reached = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, files in (("one line a core", one_line(Path(folder))), ("several lines a core", ())):
            tell(f"building the cluster with a second level, {name}")
            library = build_dram_cluster(rtl.SHAPE, files=files)
            for stream in STREAMS:
                reached[f"second level, {name}, {stream}, {CORES} cores"] = behind_l2(library, stream)
    return reached


OPTIONS = {"--l2": {"action": "store_true", "help": "only what is reached behind a second-level cache"}}
LEAST = {
    "gain by lines behind the second level": 1.3,
    "one stream's share": 0.9,
    "gain by requests under way": 1.3,
    "part of what the four-activate window lets through": 0.95,
}
"""Goals, of all cores of a profile's cluster."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """What cores reach of a memory's peak."""
    behind, stream = second_level(), f"a stream a lane, {CORES} cores"
    one, several = (behind[f"second level, {which} a core, {stream}"] for which in ("one line", "several lines"))
    gains = {"gain by lines behind the second level": several.share / one.share}
    if options.l2:
        return {"reached": {name: asdict(each) for name, each in behind.items()}, **gains}
    known = build.manifest_path
    build.manifest_path = lambda name: MODULE / "manifest.yaml" if name == MODULE.name else known(name)  # type: ignore[assignment]
    reached = {}
    for name, profile in boards().items():
        for each in STREAMS:
            for cores in (1, 2, 4, CORES) if name != "default shell, kv260's memory" else (CORES,):
                key = f"{name}, {each}, {cores} cores"
                tell(key)
                reached[key] = measure(profile, each, cores)
    before, after = (reached[f"{name}, {stream}"] for name in ("default shell", "hsm"))
    hsm = boards()["hsm"].dram
    activated = 4 * 64 / (hsm.faw_ns * 1e-9) / hsm.bytes_per_s / (1 - after.row_hit_rate)
    gains["one stream's share"] = reached[f"hsm, one stream, {CORES} cores"].share
    gains["gain by requests under way"] = after.share / before.share
    gains["part of what the four-activate window lets through"] = after.share / min(activated, 1.0)
    return {"reached": {name: asdict(each) for name, each in {**reached, **behind}.items()}, **gains}
