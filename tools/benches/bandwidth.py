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
import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
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
LEAST_GAIN = 1.3
"""Least times the bandwidth of default shells where rows are hit seldom."""
LEAST_SHARE = 0.9
"""Least part of the peak that one stream reaches."""
LEAST_OF_ROWS = 0.95
"""Least part of what the four-activate window lets through, where each lane has a stream of its own."""
LEAST_GAIN_L2 = 1.3
"""Least times the bandwidth of one line a core, behind a second level, where each lane has a stream of its own."""
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
class Reached:
    """What the cores reached: part of the memory's peak, and row-buffer hit rate."""

    share: float
    row_hit_rate: float


def tell(message: str) -> None:
    """Progress, where it does not mix with the result."""
    print(f"bench: {message}", file=sys.stderr, flush=True)


def measure(profile: Profile, stream: str, cores: int = CORES) -> Reached:
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
        return Reached(used.bytes / took_s / profile.dram.bytes_per_s, used.row_hit_rate)
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


def behind_l2(library: Path, stream: str) -> Reached:
    """Run a kind of reading on all cores of the cluster of the slowdown study."""
    machine = DramCluster(rtl.SHAPE, dram_parameters(rtl.MEMORY), clk_hz=rtl.CLK_HZ, library=library)
    loaded = code(stream)
    machine.memory[: len(loaded)] = list(loaded)
    machine.own(range(CORES), 0, 0)
    began = machine.cycles
    machine.start(REGION_BASE, 0, range(CORES))
    while machine.run(LIMIT_CYCLES):
        if machine.cycles - began > LIMIT_CYCLES:
            raise SystemExit(f"{stream} behind the second level did not end within {LIMIT_CYCLES} cycles")
    if machine.faults():
        raise SystemExit(f"{stream} behind the second level did not end well: {machine.faults()[0]}")
    served = machine.traffic(0)
    peak = rtl.MEMORY.bytes_per_s / rtl.CLK_HZ
    return Reached(served.bytes / (machine.cycles - began) / peak, served.row_hits / (served.reads + served.writes))


def second_level() -> dict[str, Reached]:
    """What is reached behind a second-level cache, with one line of data a core under way and with more."""
    reached = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, files in (("one line a core", one_line(Path(folder))), ("several lines a core", ())):
            tell(f"building the cluster with a second level, {name}")
            library = build_dram_cluster(rtl.SHAPE, files=files)
            for stream in STREAMS:
                reached[f"second level, {name}, {stream}, {CORES} cores"] = behind_l2(library, stream)
    return reached


def say(reached: dict[str, Reached]) -> None:
    """A line for each."""
    for name, each in reached.items():
        print(f"bandwidth: {name}: {each.share:.3f} of the memory's peak, row hits {each.row_hit_rate:.3f}")


def too_little_behind_l2(reached: dict[str, Reached], as_json: bool) -> bool:
    """Whether more lines under way gain less than they should; says what they gain."""
    stream = f"a stream a lane, {CORES} cores"
    gain = reached[f"second level, several lines a core, {stream}"].share
    gain /= reached[f"second level, one line a core, {stream}"].share
    if not as_json:
        print(f"bandwidth: behind the second level, {CORES} cores gain {gain:.2f} times by more lines under way")
    return gain < LEAST_GAIN_L2


def main() -> int:
    """Measure, print, and exit 1 where the cores do not reach what they should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--l2", action="store_true", help="only what is reached behind a second-level cache")
    asked = parser.parse_args()
    as_json: bool = asked.as_json
    behind = second_level()
    if asked.l2:
        if as_json:
            found = {name: {"share": each.share, "row_hit_rate": each.row_hit_rate} for name, each in behind.items()}
            print(json.dumps({"bandwidth": {"reached": found}}))
        else:
            say(behind)
        return int(too_little_behind_l2(behind, as_json))
    known = build.manifest_path
    build.manifest_path = lambda name: MODULE / "manifest.yaml" if name == MODULE.name else known(name)  # type: ignore[assignment]
    reached = {}
    for name, profile in boards().items():
        for stream in STREAMS:
            for cores in (1, 2, 4, CORES) if name != "default shell, kv260's memory" else (CORES,):
                key = f"{name}, {stream}, {cores} cores"
                tell(key)
                reached[key] = measure(profile, stream, cores)
    hsm = boards()["hsm"].dram
    one = reached[f"hsm, one stream, {CORES} cores"]
    before, after = (reached[f"{name}, a stream a lane, {CORES} cores"] for name in ("default shell", "hsm"))
    if as_json:
        both = {**reached, **behind}
        found = {name: {"share": each.share, "row_hit_rate": each.row_hit_rate} for name, each in both.items()}
        print(json.dumps({"bandwidth": {"reached": found, "gain": after.share / before.share}}))
    else:
        say({**reached, **behind})
        print(f"bandwidth: {CORES} cores gain {after.share / before.share:.2f} times by more requests under way")
    activated = 4 * 64 / (hsm.faw_ns * 1e-9) / hsm.bytes_per_s / (1 - after.row_hit_rate)
    if not as_json:
        print(f"bandwidth: {after.share / activated:.3f} of what the four-activate window lets through")
    failed = (
        one.share < LEAST_SHARE
        or after.share < LEAST_GAIN * before.share
        or after.share < LEAST_OF_ROWS * min(activated, 1.0)
        or too_little_behind_l2(behind, as_json)
    )
    if failed:
        print("bandwidth: the cores do not saturate the memory", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
