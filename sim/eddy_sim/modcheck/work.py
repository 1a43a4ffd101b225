# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants do with an accelerator: the work that leaves secrets in it, and the work that looks for them.

Both follow from the manifest's example alone. Secrets are meant to reach all the state there is: other data, every
argument at its least, its largest and beyond, jobs cut off in the middle, memory that fails or holds the module up,
accesses cut in half, interrupts pending. Looks are what a next tenant may do first of all, each from a fresh reset,
because what one look clears another would have seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from eddy.core.slots import Control
from eddy.packages.modules import ModuleManifest, RegisterKind

from eddy_sim.modcheck.harness import AP_CTRL, AUTO_RESTART, CONTINUE, GIE, IDLE, IER, ISR, START
from eddy_sim.modcheck.port import Memory, Port

ARENA, SPACE = 0x1000_0000, 0x40_0000
RUN_CYCLES = 4_000
"""How long a look waits for the end of a job."""
GRACE_CYCLES = RUN_CYCLES // 2
"""How much longer a run may take after other runs than the first of all, where that ended in time."""
SECRET_CYCLES = 1_500
"""How long a secret's job may take before it is cut off."""
MOST_DIRECTED = 28
"""Of more directed secrets, each past gets a sample."""
SETTLE_READS = 2_000
"""How often a run is asked whether it has ended before it counts as endless."""
MOST_VALUES = 4
"""Of more given values, each argument takes a sample."""
LOOKS = 10
"""Looks with other arguments, on any values: what the designer did not think of is read as it was left."""
SEEN_BYTES = 0x200
"""Registers that a look reads after a job."""
WINDOW_BYTES = 0x1_0000
"""All that a module's register window may show: what reads zero by the contract may show something all the same."""


@dataclass(frozen=True)
class TenantWork:
    """Something a tenant does.

    Attributes:
        name: For people.
        memory: What it finds in memory.
        run: Does it.
    """

    name: str
    memory: Memory
    run: Callable[[Port], None]


def arguments(manifest: ModuleManifest, at: int = 0) -> dict[str, int]:
    """The example's arguments, its buffers at places of their own; `at` moves them."""
    values = dict(manifest.example)
    for i, register in enumerate(r for r in manifest.inputs() if r.kind is RegisterKind.POINTER):
        values[register.name] = ARENA + SPACE * i + at
    return values


def put(port: Port, manifest: ModuleManifest, values: Mapping[str, int]) -> None:
    """Write arguments."""
    fitting = {name: value & (1 << manifest.register(name).width) - 1 for name, value in values.items()}
    for offset, value in manifest.writes(fitting):
        port.write(offset, value)


def run(port: Port, manifest: ModuleManifest, values: Mapping[str, int], cycles: int) -> bool:
    """Write arguments, start, wait for the interrupt; whether it came."""
    put(port, manifest, values)
    port.write(GIE, 1)
    port.write(IER, 1)
    port.write(AP_CTRL, START)
    return port.interrupt(cycles)


# Secrets --------------------------------------------------------------------------------------------------------------


def secrets(manifest: ModuleManifest, seed: int, values: Sequence[int] = ()) -> list[TenantWork]:
    """Directed secrets, then random ones; another seed gives other data and other places.

    Args:
        manifest: The module.
        seed: What they follow from.
        values: Values that arguments take among others.
    """
    rng = random.Random(seed)
    found = list(directed(manifest, rng, values))
    found = rng.sample(found, min(len(found), MOST_DIRECTED))
    found += [_random(manifest, rng, number, values) for number in range(12)]
    rng.shuffle(found)
    return found


def directed(manifest: ModuleManifest, rng: random.Random, values: Sequence[int] = ()) -> Iterator[TenantWork]:
    """Jobs on secret values: the example, each argument at other values, the example cut off."""
    base = arguments(manifest, 8 * rng.randrange(256))
    for name, most in (("small values", 15), ("any values", 255)):
        yield _job(manifest, f"the example on {name}", base, Memory(rng.getrandbits(20), most), RUN_CYCLES)
    for register in manifest.inputs():
        if register.kind is not RegisterKind.SCALAR:
            continue
        value = base[register.name]
        tries = {0, 1, value + 1, max(value - 1, 0), *(value << k for k in range(1, 12, 2)), rng.getrandbits(32)}
        tries |= set(rng.sample(values, min(len(values), MOST_VALUES)))
        for other in sorted(tries - {value}):
            name = f"{register.name} = {other}"
            yield _job(manifest, name, base | {register.name: other & 0xFFFF_FFFF}, Memory(rng.getrandbits(20)))
    for _ in range(6):
        cut = rng.randrange(10, 400)
        yield _job(manifest, f"the example cut off after {cut} cycles", base, Memory(rng.getrandbits(20)), cut)


def _job(
    manifest: ModuleManifest, name: str, values: Mapping[str, int], memory: Memory, cycles: int = SECRET_CYCLES
) -> TenantWork:
    return TenantWork(name, memory, lambda port: ignore_answer(run(port, manifest, values, cycles)))


def ignore_answer(_: object) -> None:
    """Take no notice of an answer."""


def _random(manifest: ModuleManifest, rng: random.Random, number: int, others: Sequence[int]) -> TenantWork:
    """Work of any kind: arguments of any value, memory that fails and holds up, accesses cut in half."""
    seed = rng.getrandbits(30)

    def carry_out(port: Port) -> None:
        dice = random.Random(seed)
        port.pause(dice.choice((0.0, 0.3, 0.9, 1.0)), seed)
        port.memory.fail = dice.choice((0.0, 0.0, 0.3))
        values = arguments(manifest, 8 * dice.randrange(4096))
        for register in manifest.inputs():
            if dice.random() < 0.3 and register.kind is RegisterKind.SCALAR:
                values[register.name] = dice.choice((dice.randrange(64), dice.getrandbits(32), *others))
        run(port, manifest, values, dice.randrange(20, 600))
        port.write(GIE, dice.getrandbits(1))
        port.write(IER, dice.getrandbits(2))
        port.write(ISR, dice.getrandbits(2))
        port.write(AP_CTRL, dice.choice((0, START, START | AUTO_RESTART, CONTINUE)))
        for _ in range(dice.randrange(20)):
            value = dice.choice((dice.getrandbits(32), *others))
            port.write(4 * dice.randrange(SEEN_BYTES // 4), value, dice.getrandbits(4))
            port.read(4 * dice.randrange(WINDOW_BYTES // 4))
        port.run_idle(dice.randrange(200))
        port.begin_write(4 * dice.randrange(SEEN_BYTES // 4))

    return TenantWork(f"random work {number}", Memory(seed), carry_out)


def settle(port: Port, manifest: ModuleManifest) -> bool:
    """Wait for a run's end, then take everything away that its registers show of it; False where it does not end."""
    port.pause(0.0)
    port.memory.fail = 0.0
    port.write(AP_CTRL, 0)
    for _ in range(SETTLE_READS):
        if port.read(AP_CTRL) & IDLE:
            break
        _let_go(port, manifest)
    else:
        return False
    port.write(GIE, 0)
    port.write(IER, 0)
    port.write(ISR, port.read(ISR))
    port.read_range(0, SEEN_BYTES)
    port.run_idle(32)
    return True


def _let_go(port: Port, manifest: ModuleManifest) -> None:
    """Take the end of a run from a module that says it until then."""
    if manifest.control is Control.CHAIN:
        port.write(AP_CTRL, CONTINUE)


# Looks ----------------------------------------------------------------------------------------------------------------


def looks(manifest: ModuleManifest, values: Sequence[int] = ()) -> list[TenantWork]:
    """What the next tenant may do first, each on memory of its own; `values` are such that arguments take."""
    return [
        TenantWork("reading registers", Memory(1), _read_registers),
        TenantWork("waiting with every interrupt enabled", Memory(2), _await_interrupts),
        TenantWork("a start without arguments", Memory(3), lambda port: _start_bare(port, manifest)),
        *jobs(manifest, values),
    ]


class Job(Protocol):
    """How a job is run and looked at."""

    def __call__(self, port: Port, manifest: ModuleManifest, values: Mapping[str, int]) -> None:
        """Run it on a module."""


def single_runs(manifest: ModuleManifest, values: Sequence[int] = ()) -> list[TenantWork]:
    """Jobs as a board runs them: one run each, whose registers are read only where it has ended."""
    return jobs(manifest, values, _run_once)


def slowed(works: Sequence[TenantWork]) -> list[TenantWork]:
    """The same works, with memory that takes longer."""
    return [replace(each, run=partial(_slowly, each)) for each in works]


def _slowly(work: TenantWork, port: Port) -> None:
    port.pause(0.6, 11)
    work.run(port)


def _run_once(port: Port, manifest: ModuleManifest, values: Mapping[str, int]) -> None:
    port.mark("the job")
    if not run(port, manifest, values, RUN_CYCLES + GRACE_CYCLES):
        return
    port.mark("reading its results")
    port.read(AP_CTRL)
    status = (manifest.status,) if manifest.status else ()
    for register in (*manifest.results(), *status):
        port.read_range(register.offset, register.offset + 4 * register.word_count)


def jobs(manifest: ModuleManifest, values: Sequence[int] = (), job: Job | None = None) -> list[TenantWork]:
    """Whole jobs, every argument given; looked at twice over where `job` does not say how."""
    example, job = arguments(manifest), job or _look
    found = [
        TenantWork(f"the example{more}", Memory(seed, 15), partial(each, manifest=manifest, values=example))
        for more, seed, each in (
            ("", 4, job),
            (", memory holding it up", 5, partial(_held_up, job=job)),
            (", memory failing", 6, partial(_failing, job=job)),
        )
    ]
    dice = random.Random(8)
    scalars = [register.name for register in manifest.inputs() if register.kind is RegisterKind.SCALAR]
    for number in range(LOOKS):
        changed = {name: _other(example[name], dice) for name in scalars if dice.random() < 1.5 / len(scalars)}
        found.append(_look_with(manifest, number, changed, job))
    for number, value in enumerate(values, LOOKS):
        found.append(_look_with(manifest, number, {name: value for name in scalars if dice.random() < 0.5}, job))
    return found


def _other(value: int, dice: random.Random) -> int:
    """A value for an argument whose example is `value`: near it, or a simple part or multiple of it."""
    return max(dice.choice((1, value + 1, value - 1, value + 8, value // 2, 2 * value, 4 * value, 8)), 0)


def _look_with(manifest: ModuleManifest, number: int, changed: Mapping[str, int], job: Job) -> TenantWork:
    values = {**arguments(manifest), **changed}
    said = ", ".join(f"{name} = {value}" for name, value in changed.items())
    name = f"look {number} ({said or 'the example'}, on any values)"
    return TenantWork(name, Memory(10 + number), partial(job, manifest=manifest, values=values))


def _look(port: Port, manifest: ModuleManifest, values: Mapping[str, int]) -> None:
    port.mark("the job")
    run(port, manifest, values, RUN_CYCLES)
    port.mark("reading registers after it")
    _ends(port, manifest)
    port.mark("the same job again")
    run(port, manifest, values, RUN_CYCLES)
    _ends(port, manifest)


def _ends(port: Port, manifest: ModuleManifest) -> None:
    port.read_range(0, SEEN_BYTES)
    _let_go(port, manifest)
    port.write(ISR, port.read(ISR))
    port.run_idle(8)


def _held_up(port: Port, manifest: ModuleManifest, values: Mapping[str, int], job: Job) -> None:
    port.pause(0.5, 3)
    job(port, manifest, values)


def _failing(port: Port, manifest: ModuleManifest, values: Mapping[str, int], job: Job) -> None:
    port.memory.fail = 0.5
    job(port, manifest, values)


def _start_bare(port: Port, manifest: ModuleManifest) -> None:
    for offset, value in ((GIE, 1), (IER, 3), (AP_CTRL, START)):
        port.write(offset, value)
    port.interrupt(2_000)
    _ends(port, manifest)


def _await_interrupts(port: Port) -> None:
    port.write(GIE, 1)
    port.write(IER, 3)
    port.run_idle(300)
    port.read(ISR)


def _read_registers(port: Port) -> None:
    port.run_idle(300)
    port.read_range(0, WINDOW_BYTES)
    port.read(AP_CTRL)
    port.read(ISR)
