# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's whole fabric, from the processing system's pins to the slots, driven by the code for a board."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import cocotb
import numpy as np
from board_flow.package import board_ips
from cocotb.triggers import Timer
from eddy.board.images.signing import Trust
from eddy.board.port.port import Access, Cause, EventKind, Grant, Launch
from eddy.board.port.profile import Profile, load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.factory import open_device
from eddy.core.slots import Image
from eddy.packages.manifests import load_module_manifest
from eddy_drivers.regs import shell, slot_ctrl, window
from eddy_sim.boards.board import SimBoard
from eddy_sim.design import bitfile, bitstreams, build, hwh
from eddy_sim.device import SimDevice
from eddy_sim.processor.simclock import SimClock
from eddy_sim.reference import image_compression
from fabric_bench import NOISE, SOUND, FabricBoard, WholeFabric

MODULE = os.environ["EDDY_BENCH_MODULE"]
IMAGE_BYTES = 1536
MEMORY_BYTES, ARENA = 1 << 19, (1 << 18, 1 << 17)
SIDE = 32


def profile() -> Profile:
    """A KV260 with little memory and short images, so that not all of the time goes by loading."""
    board = load_profile("kv260_icap")
    slots = tuple(replace(slot, image_bytes=IMAGE_BYTES + 128 * slot.index) for slot in board.slots)
    dram, arena = replace(board.dram, bytes=MEMORY_BYTES), replace(board.arena, base=ARENA[0], bytes=ARENA[1])
    return replace(board, name=f"fabric_bench_{os.getpid()}", slots=slots, dram=dram, arena=arena)


async def started(dut: Any, board: Profile) -> tuple[WholeFabric, FabricBoard]:
    """The fabric out of reset, with nothing in its slots, and what the code for a board takes it for."""
    fabric = WholeFabric(dut, len(board.slots))
    fabric.builds = {MODULE: f"{build.module_build_hash(MODULE):016x}"}
    await fabric.start()
    return fabric, FabricBoard(fabric, board)


@contextmanager
def opened(sim: FabricBoard) -> Iterator[tuple[PynqBoard, Path]]:
    """The board that ships, on the fabric, with images as a build for a board describes them, and their folder."""
    board = sim.profile
    made = bitstreams.list_or_build(board, found=(load_module_manifest(build.manifest_path(MODULE)),))
    with tempfile.TemporaryDirectory() as work:
        folder = Path(shutil.copytree(made.overlay.parent, Path(work) / "images"))
        shutil.rmtree(made.overlay.parent)
        overlay = folder / made.overlay.name
        handoff = hwh.overlay_hwh("eddy", board.part, board.shell_hz, board_ips(board))
        overlay.with_suffix(".hwh").write_text(handoff, encoding="utf-8")
        device = SimDevice(board, coherent=False, board=lambda: cast(SimBoard, sim))
        port = open_device(overlay, device, SimClock(device), board, folder, Trust(False))
        try:
            yield port, folder
        finally:
            port.release()


def image_for(board: PynqBoard, slot: int) -> Image:
    return next(image for image in board.images() if image.slot == slot)


def event_of(board: PynqBoard) -> Any:
    (event, *_) = board.wait(board.now_s() + 5e-3)
    board.wait(0.0, event.seq)
    return event


def payload_of(file: Path) -> bytes:
    return bitfile.read_bit(file)[1]


@cocotb.test()
async def modules_are_loaded_and_run_by_the_code_for_a_board(dut: Any) -> None:
    """Two slots at clocks of their own, by the swap, engine and drivers that ship; their items at the same time."""
    fabric, sim = await started(dut, profile())
    rng = np.random.default_rng(1)
    tiles = {slot: rng.integers(0, 256, (SIDE, SIDE), dtype=np.uint8) for slot in (0, 2)}
    results: dict[int, bytes] = {}

    def work() -> None:
        with opened(sim) as (board, folder):
            for number, slot in enumerate(tiles):
                board.load(slot, image_for(board, slot).sha256)
                event = event_of(board)
                assert (event.kind, event.cause) == (EventKind.CONFIGURED, Cause.NONE), event
                assert len(fabric.loads) == number + 1
                assert fabric.loads[-1] == payload_of(folder / f"{MODULE}__slot{slot}.bit")
            outputs = {slot: launched(board, slot, tile) for slot, tile in tiles.items()}
            ends = [event_of(board) for _ in tiles]
            assert {(end.kind, end.slot) for end in ends} == {(EventKind.ITEM_DONE, slot) for slot in tiles}, ends
            for slot, buffer in outputs.items():
                results[slot] = board.read(buffer, 0, 2 * SIDE * SIDE)
            refused(fabric, board)

    await sim.run(work)
    for slot, tile in tiles.items():
        assert results[slot] == image_compression.level_shift(tile).tobytes(), slot
    ps = fabric.ps
    # Each slot, and the engine, by ids of its own.
    assert int(ps.ids_used.value).bit_count() >= 3
    assert (int(ps.reads.value) > 0, int(ps.writes.value) > 0, int(ps.beyond.value)) == (True, True, 0)


def launched(board: PynqBoard, slot: int, tile: Any) -> int:
    """Start an item in a slot; its output's buffer."""
    into, out = board.allocate(tile.nbytes, "tenant"), board.allocate(2 * tile.nbytes, "tenant")
    board.write(into.id, 0, tile.tobytes())
    height, width = tile.shape
    registers = ((0x10, into.address), (0x14, 0), (0x1C, out.address), (0x20, 0), (0x28, width), (0x30, height))
    grants = (Grant(into.id, Access.READ), Grant(out.id, Access.WRITE))
    board.launch(slot, Launch(f"item{slot}", registers, grants, 2e-3, status=0x38))
    return out.id


def refused(fabric: WholeFabric, board: PynqBoard) -> None:
    """A load that the device finds an error in ends in an abort sequence and an error, and the next one goes well."""
    for fails in (1, 0):
        fabric.icap.fails.value = fails
        board.load(1, image_for(board, 1).sha256)
        event = event_of(board)
        wanted = EventKind.CONFIGURATION_FAILED if fails else EventKind.CONFIGURED
        assert event.kind is wanted, event
        assert int(fabric.icap.aborts.value) == 1
        assert int(fabric.contents[1].in_reset.value) == fails
    assert int(fabric.contents[3].holds.value) == NOISE


class Raw:
    """Registers one by one, for what no driver would do."""

    def __init__(self, fabric: WholeFabric) -> None:
        self._fabric = fabric

    async def put(self, offset: int, value: int) -> None:
        _, answer = await self._fabric.access(True, window.BASE + offset, [value], 1, 0x5A5A)
        assert answer == 0

    async def get(self, offset: int, count: int = 1) -> list[int]:
        words: list[int]
        words, answer = await self._fabric.access(False, window.BASE + offset, [], count, 0xA5A5)
        assert answer == 0
        return words

    async def bank(self, slot: int, register: Any, index: int = 0, **fields: int) -> None:
        await self.put(window.CONTROL.at(slot) + register.at(index), register.encode(**fields))

    async def field(self, slot: int, register: Any, name: str) -> int:
        (word,) = await self.get(window.CONTROL.at(slot) + register.at(0))
        return int(register.decode(word)[name])

    async def open(self, slot: int) -> None:
        """Everything of a slot, with one window: the second page and the third, to read and write, by context 0."""
        await self.bank(slot, slot_ctrl.WINDOW_BASE, page=1)
        await self.bank(slot, slot_ctrl.WINDOW_LAST, page=2)
        await self.bank(slot, slot_ctrl.WINDOW_FLAGS, read=1, write=1, contexts=1)
        await self.bank(slot, slot_ctrl.CONTROL, run=1, open_control=1, open_memory=1, open_interrupt=1)
        for _ in range(100):
            if not await self.field(slot, slot_ctrl.STATUS, "memory_closed"):
                break
        await Timer(300, "ns")


@cocotb.test()
async def no_tenant_reaches_what_it_was_not_granted(dut: Any) -> None:
    """Secure, coherent and urgent requests: those inside come out tame (PS8.sv asserts it), the others not at all."""
    fabric, _ = await started(dut, profile())
    raw, ps = Raw(fabric), fabric.ps
    slot = 3
    for k in range(4):
        fabric.contents[k].holds.value = SOUND
    await raw.open(slot)
    await fabric.poke(0x1000, bytes(range(64)))
    assert await fabric.ask(slot, 0x1000, beats=8) == 0
    assert await fabric.ask(slot, 0x2F80, write=True, beats=16) == 0
    assert (int(ps.reads.value), int(ps.writes.value)) == (1, 1)
    assert fabric.peek(0x2F80, 128) == b"\x66" * 128
    causes = slot_ctrl.FIRST_FAULT
    asked = [
        (0x0FC0, False, 8, 0),  # before
        (0x3000, True, 8, 0),  # behind
        (0x2FC8, False, 16, 0),  # across a page
        (0x1000, True, 1, 2),  # another context
        (0xFF_FFFF_F000, False, 1, 0),  # the end of what 40 bits reach
        (0x1000 + (1 << 32), True, 4, 0),  # a page with the same lower bits
    ]
    for address, write, beats, context in asked:
        assert await raw.field(slot, causes, "cause") == 0
        assert await fabric.ask(slot, address, write, beats, context) == 2
        assert await raw.field(slot, causes, "cause") != 0
        await raw.bank(slot, slot_ctrl.FAULT_CLEAR, clear=1)
    assert (int(ps.reads.value), int(ps.writes.value), int(ps.beyond.value)) == (1, 1, 0)
    for other in range(3):
        assert await raw.field(other, causes, "cause") == 0
    # And it goes on with what it may.
    assert await fabric.ask(slot, 0x1000, beats=8) == 0


@cocotb.test()
async def every_slot_has_a_clock_and_a_reset_of_its_own(dut: Any) -> None:
    fabric, _ = await started(dut, profile())
    raw = Raw(fabric)
    wanted = [10.0] * 4
    for slot, divide in ((2, 8_000), (0, 16_000), (3, 12_500)):
        base = window.WIZARD.at(slot)
        await raw.put(base + 0x208, divide // 1000 | divide % 1000 << 8)
        await raw.put(base + 0x25C, 3)
        wanted[slot] = divide / 1000
        await Timer(1, "us")
        assert (await raw.get(base + 0x208))[0] == divide // 1000 | divide % 1000 << 8
        found = await fabric.periods()
        assert all(abs(is_ns - want) < 0.2 for is_ns, want in zip(found, wanted, strict=True)), (found, wanted)
    for slot in (1, 3, 0, 2):
        await raw.bank(slot, slot_ctrl.CONTROL, run=1)
        await Timer(300, "ns")
        assert [int(inside.in_reset.value) for inside in fabric.contents] == [int(k != slot) for k in range(4)]
        await raw.bank(slot, slot_ctrl.CONTROL)
        await Timer(300, "ns")
    # One clock is lost: its slot says so, its registers are answered, and the others do not notice.
    for slot in (0, 1):
        fabric.contents[slot].holds.value = SOUND
        await raw.open(slot)
    fabric.stop_clock(0)
    for slot in (0, 1):
        await raw.bank(slot, slot_ctrl.CLOCK_CHECK, start=1)
    await Timer(12, "us")
    assert [await raw.field(slot, slot_ctrl.STATUS, "clock_alive") for slot in (0, 1)] == [0, 1]
    assert (await raw.get(window.MODULE.at(0) + 0xF000))[0] == 0xDEADF000
    assert (await raw.get(window.MODULE.at(1) + 0xF000))[0] == 0x45444459


@cocotb.test()
async def a_reset_of_the_processing_system_reaches_everything(dut: Any) -> None:
    """In the middle of traffic; afterwards all is as at the start, and registers come in bursts."""
    fabric, _ = await started(dut, profile())
    raw, ps = Raw(fabric), fabric.ps
    fabric.contents[1].holds.value = SOUND
    await raw.open(1)
    hanging = cocotb.start_soon(fabric.ask(1, 0x1000, beats=8))
    await Timer(100, "ns")
    hanging.cancel()
    ps.pl_rst_n.value = 0
    await Timer(600, "ns")
    assert [int(inside.in_reset.value) for inside in fabric.contents] == [1] * 4
    ps.pl_rst_n.value = 1
    await Timer(1, "us")
    assert int(ps.irq.value) == 0
    words = await raw.get(window.SHELL.offset, 4)
    assert shell.ID.decode(words[0]) == shell.ID.decode(shell.ID.reset)
    assert words[2] | words[3] << 32 == int(os.environ["EDDY_BENCH_SHELL"], 16)
    assert await raw.field(1, slot_ctrl.STATUS, "memory_closed") == 1
    # What is nowhere is answered as well: beyond the slots that there are, and beyond the wizards.
    for offset in (window.WIZARD.at(4), window.MODULE.at(9), 0xFF_FFFC):
        words, _ = await fabric.access(False, window.BASE + offset, [], 1, 1)
        assert words == [0xDEAD0001]
