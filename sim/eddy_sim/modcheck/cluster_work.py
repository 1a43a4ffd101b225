# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants do with a GPU cluster: kernels that fill all there is with secrets, and kernels that look for them."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable

from eddy.gpu.programs.layout import LOCAL_BASE, REGION_BASE
from eddy.packages.modules import ModuleManifest

from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.random_programs import Options, random_program
from eddy_sim.modcheck.port import Memory, Port
from eddy_sim.modcheck.work import WINDOW_BYTES, TenantWork

LAUNCH, HALT, SNAPSHOT, INTERRUPT_STATUS, INTERRUPT_ENABLE = 0x20, 0x28, 0x34, 0x04, 0x30
CORE, CORE_STRIDE, COUNTER, COUNTERS = 0x100, 0x40, 0x400, 32
DATA, LEFT = 0x8100_0000, 0x8200_0000
LOCAL_WORDS = 4096
"""Words of local memory that are filled and looked at; a smaller one repeats itself."""
KERNEL_CYCLES = 60_000
FLOATS = 32
STATE_CSRS = (0x305, 0x340, 0x341, 0x342, 0x343, 0x7C0, 0x7C1)
"""What programs may leave in a core: mtvec, mscratch, mepc, mcause, mtval, class."""
SEEN_CSRS = (*STATE_CSRS, 0x300, 0xCC3, 0xCC4, 0xFC3, 0xFD0, 0xC00, 0xC80, 0xC02, 0xC82)
"""What a look reads beside registers: the counters of cycles and instructions last, they tell the time."""

_ALL_LANES = """
  csrr {a}, 0xfc1
  la {b}, 1f
  .insn r 0x0b, 1, 0, x0, {a}, {b}
1: li {a}, -1
  .insn r 0x0b, 0, 0, x0, {a}, x0
  csrr {b}, mhartid
  slli {b}, {b}, 9
  li {a}, {base:#x}
  add {a}, {a}, {b}
"""
"""All warps, all lanes; each has its own place in register a, and only a and b are changed."""
_OVER_LOCAL = f"""
  csrr x5, 0xcc1
  csrr x6, 0xfc0
  mul x5, x5, x6
  csrr x7, 0xcc0
  add x5, x5, x7
  csrr x7, 0xfc1
  mul x6, x6, x7
  slli x6, x6, 2
  slli x5, x5, 2
  li x7, {LOCAL_BASE:#x}
  li x8, {LEFT:#x}
  li x9, {4 * LOCAL_WORDS}
2: add x10, x7, x5
  add x11, x8, x5
  {{body}}
  add x5, x5, x6
  bltu x5, x9, 2b
"""
"""Every word of local memory once, by whichever lane it falls to: its address in x10, one in memory in x11."""
_STALE = f"""
  li x5, {DATA:#x}
  li x6, 256
3: lw x7, 0(x5)
  lw x8, 64(x5)
  add x9, x9, x7
  sw x9, 32(x5)
  addi x5, x5, 64
  addi x6, x6, -1
  bnez x6, 3b
  .insn r 0x2f, 2, 0, x7, x5, x8
  sw x7, 32(x5)
  li x5, 64
  csrw 0x7c2, x5
  mv x2, x2
"""
"""Reads lines that others may have read before, from the very same addresses, changes a word as one, and asks
whether its stack pointer is within bounds that nobody has set."""
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
ENDS = {
    "ending": END,
    "spinning": "1: j 1b\n",
    "trapping": "csrw mtvec, x0\n.word 0xffffffff\n",
    "bounding its stacks": f"li x6, 64\ncsrw 0x7c2, x6\n{END}",
    "adding for ever": f"li x5, {DATA:#x}\n1: .insn r 0x2f, 2, 0, x6, x5, x6\nj 1b\n",
    "half its lanes at a barrier": "csrr x5, 0xcc0\nandi x5, x5, 1\nbeqz x5, 1f\n"
    "li x6, 3\nli x7, 2\n.insn r 0x0b, 4, 0, x0, x6, x7\n1: j 1b\n",
}


def _fill(fpu: bool, end: str) -> str:
    """A kernel that loads secrets from memory into every register of every lane, into CSRs and local memory."""
    text = _ALL_LANES.format(a="x31", b="x30", base=DATA)
    text += "".join(f"flw f{k}, {128 + 4 * k}(x31)\n" for k in range(FLOATS) if fpu)
    text += _OVER_LOCAL.format(body="lw x12, 0(x11)\nsw x12, 0(x10)")
    text += "".join(f"lw x5, {256 + 4 * k}(x31)\ncsrw {csr:#x}, x5\n" for k, csr in enumerate(STATE_CSRS))
    text += "lw x5, 300(x31)\nandi x5, x5, 0x1f\ncsrw 0x003, x5\n" if fpu else ""
    return text + "".join(f"lw x{k}, {4 * k}(x31)\n" for k in range(1, 32) if k != 31) + ENDS[end]


def _dump(fpu: bool, first: str, second: str) -> str:
    """A kernel that stores what it finds before it changes anything but two registers."""
    own = {int(first[1:]), int(second[1:])}
    text = _ALL_LANES.format(a=first, b=second, base=LEFT + 0x10_0000)
    text += "".join(f"sw x{k}, {4 * k}({first})\n" for k in range(1, 32) if k not in own)
    text += "".join(f"fsw f{k}, {128 + 4 * k}({first})\n" for k in range(FLOATS) if fpu)
    seen = (*((0x003,) if fpu else ()), *SEEN_CSRS)
    text += "".join(f"csrr {second}, {csr:#x}\nsw {second}, {256 + 4 * k}({first})\n" for k, csr in enumerate(seen))
    return text + _OVER_LOCAL.format(body="lw x12, 0(x10)\nsw x12, 0(x11)") + _STALE + END


@functools.lru_cache(maxsize=64)
def _code(text: str) -> bytes:
    return program(".section .text.init\n.globl _start\n_start:\n" + text).segments[0].data


class _Cluster:
    """The cluster of a manifest's parameters, its registers within reach."""

    def __init__(self, manifest: ModuleManifest) -> None:
        given = dict(manifest.parameters)
        self.cores, self.warps = int(given.get("Cores", 1)), int(given.get("Warps", 4))
        self.threads, self.fpu = int(given.get("Threads", 4)), int(given.get("Fpu", 0)) != 0

    def launch(self, port: Port, entry: int, cores: Iterable[int], dice: random.Random | None = None) -> None:
        """Start a kernel on cores, in a context and with an argument by chance where there are dice."""
        mask = 0
        for core in cores:
            at = CORE + CORE_STRIDE * core
            port.write(at, entry)
            if dice is not None:
                port.write(at + 4, dice.getrandbits(32))
                port.write(at + 8, dice.getrandbits(4))
            mask |= 1 << core
        port.write(INTERRUPT_ENABLE, mask | 1 << 31)
        port.write(LAUNCH, mask)

    def run(self, port: Port, text: str, cycles: int) -> None:
        """Run a kernel on every core, wait for its end, read what the cluster says of it."""
        port.memory.load(REGION_BASE, _code(text))
        port.mark("the kernel")
        self.launch(port, REGION_BASE, range(self.cores))
        port.interrupt(cycles)
        self.read_all(port)

    def read_all(self, port: Port) -> None:
        """Every register, and every counter of every core."""
        port.mark("reading registers")
        for offset in (*range(0, 0x60, 4), *range(CORE, CORE + CORE_STRIDE * self.cores, 4)):
            port.read(offset)
        for core in range(self.cores):
            port.write(SNAPSHOT, core)
            for offset in range(COUNTER, COUNTER + 8 * COUNTERS, 4):
                port.read(offset)


def secrets(manifest: ModuleManifest, seed: int) -> list[TenantWork]:
    """Kernels that fill the cluster, cut off or not, and random programs; another seed brings other data."""
    cluster, rng = _Cluster(manifest), random.Random(seed)
    found = [
        TenantWork(f"a kernel that fills all there is, {end}", Memory(rng.getrandbits(20)), _filler(cluster, end, rng))
        for end in 2 * tuple(ENDS)
    ]
    options = Options(cluster.threads, cluster.warps, cluster.fpu, length=200)
    found += [
        TenantWork(f"random program {number}", Memory(rng.getrandbits(20)), _chance(cluster, options, number))
        for number in (rng.getrandbits(16) for _ in range(6))
    ]
    rng.shuffle(found)
    return found


def _filler(cluster: _Cluster, end: str, rng: random.Random) -> Callable[[Port], None]:
    seed = rng.getrandbits(30)

    def carry_out(port: Port) -> None:
        dice = random.Random(seed)
        port.memory.load(REGION_BASE, _code(_fill(cluster.fpu, end)))
        cluster.launch(port, REGION_BASE, range(cluster.cores), dice)
        # A spinning kernel is cut off with everything filled, another at any time.
        port.interrupt(40_000 if dice.random() < 0.6 else dice.randrange(200, 20_000))
        for offset in range(CORE, CORE + 4, 4):
            port.write(offset, dice.getrandbits(32))
        port.write(HALT, dice.getrandbits(1))
        port.begin_write(LAUNCH)

    return carry_out


def _chance(cluster: _Cluster, options: Options, seed: int) -> Callable[[Port], None]:
    def carry_out(port: Port) -> None:
        dice = random.Random(seed)
        chosen = random_program(seed, options)
        for segment in chosen.segments:
            port.memory.load(segment.address, segment.data)
        port.pause(dice.choice((0.0, 0.3)), seed)
        port.memory.fail = dice.choice((0.0, 0.0, 0.02))
        cluster.launch(port, chosen.entry, range(cluster.cores))
        port.interrupt(dice.choice((dice.randrange(300, 3_000), 20_000)))

    return carry_out


def looks(manifest: ModuleManifest) -> list[TenantWork]:
    """What the next tenant may do first, each on memory of its own."""
    cluster = _Cluster(manifest)
    first, second = _dump(cluster.fpu, "x31", "x30"), _dump(cluster.fpu, "x1", "x2")

    def held_up(port: Port) -> None:
        port.pause(0.3, 3)
        cluster.run(port, first, KERNEL_CYCLES)

    def failing(port: Port) -> None:
        port.memory.fail = 0.01
        cluster.run(port, first, KERNEL_CYCLES)

    def bare(port: Port) -> None:
        port.write(LAUNCH, (1 << cluster.cores) - 1)
        port.interrupt(3_000)
        cluster.read_all(port)

    return [
        TenantWork("reading registers", Memory(1), cluster.read_all),
        TenantWork("reading all of its window", Memory(8), lambda port: port.read_range(0, WINDOW_BYTES)),
        TenantWork("waiting for an interrupt", Memory(2), lambda port: port.run_idle(500)),
        TenantWork("a launch without an address", Memory(3), bare),
        TenantWork(
            "a kernel that stores all it finds", Memory(4), lambda port: cluster.run(port, first, KERNEL_CYCLES)
        ),
        TenantWork("another that does", Memory(5), lambda port: cluster.run(port, second, KERNEL_CYCLES)),
        TenantWork("that kernel, memory holding it up", Memory(6), held_up),
        TenantWork("that kernel, memory failing", Memory(7), failing),
    ]
