# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The CPU's crossbar and its bridges: each access reaches the one bank it is for, and each is answered, in turn.

The CPU asks ahead, banks and modules take their time, half of the addresses may be empty, and a fence goes up and down.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from ctrl_model import MASK, POISON, Access, Answer, Banks, Cpu, Flow, Module, Modules, place

SLVERR = 2


async def start(dut: Any) -> None:
    for name in ("awvalid", "wvalid", "arvalid", "bready", "rready", "slverr", "fence", "bank_ack", "bank_err"):
        getattr(dut, f"{name}_i").value = 0
    for name in ("m_awready", "m_wready", "m_arready", "m_bvalid", "m_rvalid"):
        getattr(dut, f"{name}_i").value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    for name in ("awready", "wready", "arready", "bvalid", "rvalid", "miss", "bank_sel", "m_awvalid", "m_arvalid"):
        assert getattr(dut, f"{name}_o").value == 0
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


class Bench:
    """All around one crossbar; `now` is the access under way, `expected` what the CPU must be told."""

    def __init__(self, dut: Any, seed: int, slverr: bool = False) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.slots = int(dut.NumSlots.value)
        self.cpu = Cpu(dut, self.rng, self.slots)
        self.banks = Banks(dut, self.rng, 2 + self.slots)
        self.modules = Modules(dut, self.rng, self.slots)
        self.slverr = slverr
        dut.slverr_i.value = int(slverr)
        self.fence = 0
        self.now: Access | None = None
        self.expected: Answer | None = None
        self.missed = False
        self.last_write = False
        self.both_wait = 0
        self.finished: list[Access] = []
        self.misses = self.fenced = 0
        self.answers: dict[str, tuple[int, int] | None] = {"b": None, "r": None}

    async def cycle(self, flow: Flow) -> None:
        self.cpu.ask(flow)
        self.cpu.drive(flow)
        self.banks.drive(flow)
        self.modules.drive(flow)
        self.dut.fence_i.value = self.fence
        await Timer(4, "ns")
        self.starts(flow)
        self.check_modules()
        self.module_answers()
        self.bank_answers()
        self.check_miss()
        self.cpu_answers()
        self.modules.sample()
        self.cpu.taken()
        held = self.cpu.accepted
        self.both_wait = self.both_wait + 1 if held["aw"] and held["w"] and held["ar"] and self.now is None else 0
        await FallingEdge(self.dut.clk_i)

    def starts(self, flow: Flow) -> None:
        """An access is brought to a bank, or meets nothing."""
        dut = self.dut
        selected = int(dut.bank_sel_o.value)
        to_module = [i for i in range(self.slots) if self.selects_module(i)]
        nothing = dut.miss_o.value == 1 and self.now is None
        count = selected.bit_count() + len(to_module) + nothing
        assert count <= 1, "two banks selected"
        if not count:
            return
        assert self.now is None, "an access began before the one before it was answered"
        access = self.next_access(nothing)
        at = place(access.addr, self.slots)
        if nothing:
            assert at is None, f"{access.addr:#08x} met nothing"
            self.expected = Answer(SLVERR if self.slverr else 0, POISON)
            self.missed = True
        elif to_module:
            assert at == ("module", to_module[0])
            if self.fence >> to_module[0] & 1:
                self.expected = Answer(SLVERR if self.slverr else 0, 0xDEAD_0000 | access.addr & 0xFFFF)
                self.fenced += 1
        else:
            bank = selected.bit_length() - 1
            assert at == ("own", bank)
            self.banks.waiting = (bank, self.rng.randrange(flow.bank_delay))
        self.now = access

    def selects_module(self, slot: int) -> bool:
        return bool(int(self.dut.sel.value) >> (2 + self.slots + slot) & 1)

    def next_access(self, nothing: bool) -> Access:
        """The access that begins, as the CPU asked for it, which went when it was its turn."""
        dut, held = self.dut, self.cpu.accepted
        write = (dut.bvalid_o if nothing else dut.bank_write_o).value == 1
        if self.both_wait > 1:
            assert write != self.last_write, "a read and a write that wait together take turns"
        self.last_write = bool(write)
        if write:
            access = Access(True, *held["aw"].popleft(), *held["w"].popleft())
        else:
            access = Access(False, *held["ar"].popleft())
        self.check_payload(access)
        return access

    def check_payload(self, access: Access) -> None:
        dut = self.dut
        assert int(dut.bank_addr_o.value) == access.addr & 0xFFFF
        if access.write:
            assert (int(dut.bank_wdata_o.value), int(dut.bank_wstrb_o.value)) == (access.data, access.strb)

    def bank_answers(self) -> None:
        if int(self.dut.bank_ack_i.value) == 0:
            return
        assert self.now is not None
        # The payload is what it was when the bank was selected.
        self.check_payload(self.now)
        bad, data = self.banks.answer
        self.expected = Answer(SLVERR if bad and self.slverr else 0, POISON if bad else data)
        self.missed = bad

    def check_modules(self) -> None:
        """A module is asked only for the access that is under way, is meant for it and was let through."""
        asked = 0
        for name in ("aw", "w", "ar"):
            asked |= int(getattr(self.dut, f"m_{name}valid_o").value)
        if asked:
            assert self.now is not None
            assert self.expected is None, "a fenced or finished access went out"
            at = place(self.now.addr, self.slots)
            assert at == ("module", asked.bit_length() - 1)
            assert asked.bit_count() == 1

    def module_answers(self) -> None:
        while self.modules.done:
            slot, module = self.modules.done.pop(0)
            assert self.now is not None
            assert place(self.now.addr, self.slots) == ("module", slot)
            self.check_module(self.now, module)
            self.expected = Answer(module.resp & SLVERR, module.data)

    def check_module(self, access: Access, module: Module) -> None:
        request = (access.addr & 0xFFFF, access.prot)
        if access.write:
            assert (module.aw, module.w, module.ar) == (request, (access.data, access.strb), None)
        else:
            assert (module.aw, module.w, module.ar) == (None, None, request)

    def check_miss(self) -> None:
        """Reported exactly once for each access that met nothing, with where it went."""
        if self.dut.miss_o.value == 1:
            assert self.missed
            assert self.now is not None
            assert int(self.dut.miss_addr_o.value) == self.now.addr
            self.missed = False
            self.misses += 1

    def cpu_answers(self) -> None:
        dut = self.dut
        for side in ("b", "r"):
            valid = getattr(dut, f"{side}valid_o").value == 1
            data = int(dut.rdata_o.value) if side == "r" else 0
            answer = (int(getattr(dut, f"{side}resp_o").value), data)
            before = self.answers[side]
            assert before is None or (valid and answer == before), "an answer changed before it was taken"
            self.answers[side] = None
            if not valid:
                continue
            assert self.now is not None
            assert self.now.write == (side == "b")
            assert self.expected is not None, "answered before the bank was"
            assert answer[0] == self.expected.resp
            assert side == "b" or answer[1] == self.expected.data & MASK
            if getattr(dut, f"{side}ready_i").value == 1:
                assert not self.missed, "what met nothing was not reported"
                self.finished.append(self.now)
                self.now = self.expected = None
            else:
                self.answers[side] = answer

    async def drain(self) -> None:
        self.cpu.kinds = ()
        for _ in range(200):
            await self.cycle(Flow())
        assert self.now is None
        assert not any(self.cpu.accepted.values())
        assert all(value is None for value in self.cpu.offered.values())


FLOWS = [
    Flow(),
    Flow(ask=0.3, take=0.3, bank_delay=6, module=0.4),
    Flow(bank_delay=20, module=0.1),
    Flow(take=0.1, holes=0.5),
    Flow(ask=0.1, errors=0.6),
]


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)), slverr=[False, True])
async def each_access_reaches_its_bank_and_is_answered(dut: Any, number: int, slverr: bool) -> None:
    await start(dut)
    bench = Bench(dut, 70 + number, slverr)
    for _ in range(1000):
        await bench.cycle(FLOWS[number])
    await bench.drain()
    places = {place(access.addr, bench.slots) for access in bench.finished}
    assert {None, ("own", 0), ("own", 1)} <= places
    assert {access.write for access in bench.finished} == {False, True}
    assert bench.misses > 5


@cocotb.test()
async def every_page_of_the_window_is_somebodys_or_nobodys(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, 80)
    for page in range(256):
        bench.cpu.pages = (page,)
        done = len(bench.finished)
        while len(bench.finished) < done + 2:
            await bench.cycle(Flow(errors=0.0))
    bench.cpu.pages = None
    await bench.drain()


@cocotb.test()
async def a_fence_answers_and_nothing_passes(dut: Any) -> None:
    """Closed to some modules, changed while accesses are under way: one that went out is finished."""
    await start(dut)
    bench = Bench(dut, 81)
    bench.cpu.pages = tuple(range(0x10, 0x10 + bench.slots))
    for cycle in range(2000):
        if cycle % 37 == 0:
            bench.fence = bench.rng.getrandbits(bench.slots)
        await bench.cycle(Flow(module=0.3))
    await bench.drain()
    assert bench.fenced > 20
    assert len(bench.finished) - bench.fenced > 20


@cocotb.test()
async def an_answer_takes_what_the_bank_takes_and_three_cycles(dut: Any) -> None:
    """From the CPU's request, offered while all is idle, to the answer."""
    await start(dut)
    bench = Bench(dut, 82)
    bench.cpu.kinds = ()
    for delay in (0, 1, 5, 40):
        for write in (False, True):
            for _ in range(6):
                await bench.cycle(Flow())
            bench.cpu.offered["aw" if write else "ar"] = (0x04_0010, 0)
            bench.cpu.offered["w"] = (5, 15) if write else None
            cycles, waited = 0, 0
            while not (dut.bvalid_o.value == 1 or dut.rvalid_o.value == 1):
                await bench.cycle(Flow(take=0, errors=0))
                if bench.banks.waiting is not None and not waited:
                    bench.banks.waiting, waited = (bench.banks.waiting[0], delay), 1
                cycles += 1
                assert cycles < 100
            # A bank that answers in the cycle after its selection takes one cycle.
            assert cycles == delay + 1 + 3, f"{cycles} cycles with a bank that takes {delay + 1}"
            await bench.cycle(Flow())
    # Where nothing is, the crossbar answers by itself, and where there is a fence, its bridge.
    bench.fence = (1 << bench.slots) - 1
    for addr, takes in ((0x03_0000, 2), (0x10_0000, 4)):
        for _ in range(6):
            await bench.cycle(Flow())
        bench.cpu.offered["ar"] = (addr, 0)
        for _ in range(takes):
            assert dut.rvalid_o.value == 0
            await bench.cycle(Flow(take=0))
        assert dut.rvalid_o.value == 1
    await bench.drain()
