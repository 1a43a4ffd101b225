# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The surroundings of the CPU's crossbar: a CPU, the banks, the modules; and what each access must come to."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

POISON = 0xDEAD_0001
MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, the CPU asks and takes answers; the longest a bank takes; how ready a module is."""

    ask: float = 1.0
    take: float = 1.0
    bank_delay: int = 1
    module: float = 1.0
    holes: float = 0.2
    errors: float = 0.2


@dataclass(frozen=True)
class Access:
    """What the CPU asked for, and in which cycle that was complete."""

    write: bool
    addr: int
    prot: int
    data: int = 0
    strb: int = 0


@dataclass
class Answer:
    """What the CPU must be told; `data` matters for reads."""

    resp: int
    data: int


def place(addr: int, slots: int) -> tuple[str, int] | None:
    """Who answers at an offset, after docs/reference/blocks/shell.md."""
    page = addr >> 16
    if page in (0, 1):
        return "own", page
    if 4 <= page < 4 + slots:
        return "own", 2 + page - 4
    if 0x10 <= page < 0x10 + slots:
        return "module", page - 0x10
    return None


class Cpu:
    """Offers accesses at random, several ahead of their answers."""

    def __init__(self, dut: Any, rng: random.Random, slots: int) -> None:
        self.dut, self.rng, self.slots = dut, rng, slots
        self.offered: dict[str, tuple[int, ...] | None] = {"aw": None, "w": None, "ar": None}
        self.accepted: dict[str, deque[tuple[int, ...]]] = {"aw": deque(), "w": deque(), "ar": deque()}
        self.owed = 0
        self.pages: tuple[int, ...] | None = None
        self.kinds: tuple[str, ...] = ("read", "write")

    def address(self, flow: Flow) -> int:
        rng = self.rng
        if self.pages is not None:
            return rng.choice(self.pages) << 16 | rng.getrandbits(16)
        if rng.random() < flow.holes:
            page = rng.choice((2, 3, 4 + self.slots, 0x0F, 0x10 + self.slots, 0x1F, 0x40, 0xFF))
        else:
            page = rng.choice((0, 1, *range(4, 4 + self.slots), *range(0x10, 0x10 + self.slots)))
        return page << 16 | rng.getrandbits(16)

    def ask(self, flow: Flow) -> None:
        rng = self.rng
        if "write" in self.kinds and self.offered["aw"] is None and rng.random() < flow.ask:
            self.offered["aw"] = (self.address(flow), rng.getrandbits(3))
            self.owed += 1
        # Data come with their request, before it, or after it.
        if self.offered["w"] is None and self.owed and rng.random() < flow.ask:
            self.offered["w"] = (rng.getrandbits(32), rng.getrandbits(4))
            self.owed -= 1
        if "read" in self.kinds and self.offered["ar"] is None and rng.random() < flow.ask:
            self.offered["ar"] = (self.address(flow), rng.getrandbits(3))

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        for name, fields, noise in (
            ("aw", "addr prot", (24, 3)),
            ("w", "data strb", (32, 4)),
            ("ar", "addr prot", (24, 3)),
        ):
            value = self.offered[name]
            getattr(dut, f"{name}valid_i").value = int(value is not None)
            shown = value or tuple(rng.getrandbits(width) for width in noise)
            for part, number in zip(fields.split(), shown, strict=True):
                getattr(dut, f"{name}{part}_i").value = number
        dut.bready_i.value = int(rng.random() < flow.take)
        dut.rready_i.value = int(rng.random() < flow.take)

    def taken(self) -> None:
        for name in ("aw", "w", "ar"):
            value = self.offered[name]
            if value is not None and getattr(self.dut, f"{name}ready_o").value == 1:
                self.accepted[name].append(value)
                self.offered[name] = None


class Banks:
    """The shell's and the slots' banks: each answers after some cycles, now and then that nothing is there."""

    def __init__(self, dut: Any, rng: random.Random, count: int) -> None:
        self.dut, self.rng, self.count = dut, rng, count
        self.waiting: tuple[int, int] | None = None
        """(bank, cycles left) of the access under way."""
        self.answer: tuple[bool, int] = (False, 0)

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        # Data and errors of banks nobody asked are noise.
        data = [rng.getrandbits(32) for _ in range(self.count)]
        errors, acks = rng.getrandbits(self.count), 0
        if self.waiting is not None:
            bank, left = self.waiting
            self.waiting = (bank, left - 1)
            if left == 0:
                bad = rng.random() < flow.errors
                self.answer = (bad, data[bank])
                errors = errors & ~(1 << bank) | bad << bank
                acks = 1 << bank
                self.waiting = None
        dut.bank_ack_i.value = acks
        dut.bank_err_i.value = errors
        dut.bank_rdata_i.value = sum(word << 32 * bank for bank, word in enumerate(data))


@dataclass
class Module:
    """What has come to one module of the access under way."""

    aw: tuple[int, int] | None = None
    w: tuple[int, int] | None = None
    ar: tuple[int, int] | None = None
    valid: dict[str, bool] = field(default_factory=lambda: {"b": False, "r": False})
    resp: int = 0
    data: int = 0


class Modules:
    """AXI4-Lite subordinates that pause at random."""

    def __init__(self, dut: Any, rng: random.Random, count: int) -> None:
        self.dut, self.rng = dut, rng
        self.each = [Module() for _ in range(count)]
        self.held: list[dict[str, tuple[int, int] | None]] = [dict.fromkeys(("aw", "w", "ar")) for _ in range(count)]
        self.done: list[tuple[int, Module]] = []

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        count = len(self.each)
        for name in ("aw", "w", "ar"):
            getattr(dut, f"m_{name}ready_i").value = sum((rng.random() < flow.module) << i for i in range(count))
        for module in self.each:
            for side, complete in (("b", module.aw and module.w), ("r", module.ar)):
                if complete and not module.valid[side] and rng.random() < flow.module:
                    module.valid[side], module.resp, module.data = True, rng.choice((0, 0, 2, 3)), rng.getrandbits(32)
        for side in ("b", "r"):
            getattr(dut, f"m_{side}valid_i").value = sum(m.valid[side] << i for i, m in enumerate(self.each))
            resp = sum((m.resp if m.valid[side] else rng.getrandbits(2)) << 2 * i for i, m in enumerate(self.each))
            getattr(dut, f"m_{side}resp_i").value = resp
        data = sum((m.data if m.valid["r"] else rng.getrandbits(32)) << 32 * i for i, m in enumerate(self.each))
        dut.m_rdata_i.value = data

    def sample(self) -> None:
        """Take what moves at the coming edge, and check that what is offered stays."""
        for i, module in enumerate(self.each):
            for name, parts in (
                ("aw", ("addr", 16, "prot", 3)),
                ("w", ("data", 32, "strb", 4)),
                ("ar", ("addr", 16, "prot", 3)),
            ):
                first, first_width, second, second_width = parts
                seen = (self.part(name, first, i, first_width), self.part(name, second, i, second_width))
                self.channel(i, module, name, seen)
            for side in ("b", "r"):
                if module.valid[side] and self.bit(f"m_{side}ready_o", i):
                    self.done.append((i, module))
                    self.each[i] = Module()

    def channel(self, i: int, module: Module, name: str, seen: tuple[int, int]) -> None:
        before = self.held[i][name]
        if not self.bit(f"m_{name}valid_o", i):
            assert before is None, f"module {i}: {name} was withdrawn"
            return
        assert before in (None, seen), f"module {i}: {name} changed before it was taken"
        ready = self.bit(f"m_{name}ready_i", i)
        self.held[i][name] = None if ready else seen
        if ready:
            assert getattr(module, name) is None, f"module {i}: {name} twice"
            setattr(module, name, seen)

    def bit(self, name: str, index: int) -> int:
        return int(getattr(self.dut, name).value) >> index & 1

    def part(self, name: str, part: str, index: int, width: int) -> int:
        return int(getattr(self.dut, f"m_{name}{part}_o").value) >> index * width & (1 << width) - 1
