# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The PYNQ device over a board in plain Python: stock PYNQ's calls, without building RTL.

The same calls run against the RTL in tests/system/board/test_pynq_stock.py.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pynq
import pytest
from eddy.board.port.profile import Profile, load_profile
from eddy.core.errors import Conflict, EddyError, InvalidRequest, MemoryExhausted
from eddy_drivers.regs import window
from eddy_drivers.regs.icap_engine import Cause
from eddy_sim.boards.board import StopReason
from eddy_sim.boards.faults import FAILED_LOAD, LoadFault
from eddy_sim.boards.memory import CacheView
from eddy_sim.design import bitfile, build
from eddy_sim.design.addressmap import INTC_OFFSET, MODULE_OFFSET, PL_BASE
from eddy_sim.design.bitstreams import BitstreamSet, list_or_build
from eddy_sim.device import LoadRefused, SimClock, SimDevice
from pynq.pl_server.device import Device

CYCLE_S = 1e-8
ACCESS_CYCLES = 10
WORK_CYCLES = 5000
MANIFEST = """
module: toy
kind: hls
top: toy
files: toy.f
register_map: "1.0"
clk_hz: 100000000
registers:
  source: {offset: 0x10, width: 64, kind: pointer, access: r}
  count: {offset: 0x1c, width: 32, kind: scalar}
"""


class FakeBoard:
    """What `SimBoard` offers, with registers in a dictionary and modules that take a fixed time."""

    def __init__(self, profile: Profile, coherent: bool) -> None:
        self.profile = profile
        self._cache = CacheView(profile.dram.base, profile.dram.bytes, coherent)
        self.dram, self.device_dram = self._cache.cpu, self._cache.device
        self.flush, self.invalidate = self._cache.flush, self._cache.invalidate
        self.cycle = 0
        self.words: dict[int, int] = {}
        self.done_at: dict[int, int] = {}
        self.load_ends: int | None = None
        self.loads: list[tuple[int, int, LoadFault | None]] = []
        self.resets = 0
        self._untold = StopReason.NONE

    now_s = property(lambda self: self.cycle * CYCLE_S)
    config_busy = property(lambda self: self.load_ends is not None)
    load_error = ""

    @property
    def irq(self) -> bool:
        pending = self._status() & self.words.get(INTC_OFFSET + 0x08, 0)
        return bool(pending and self.words.get(INTC_OFFSET + 0x1C, 0) & 1)

    def _status(self) -> int:
        return sum(1 << slot for slot, cycle in self.done_at.items() if cycle <= self.cycle)

    def reset(self) -> None:
        self.resets += 1
        self.words.clear()
        self.done_at.clear()

    def _pass(self, cycles: int) -> None:
        irq = self.irq
        self.cycle += cycles
        if self.load_ends is not None and self.load_ends <= self.cycle:
            self.load_ends = None
            self._untold |= StopReason.CONFIG
        if self.irq and not irq:
            self._untold |= StopReason.IRQ

    def read32(self, offset: int) -> int:
        self._pass(ACCESS_CYCLES)
        if offset == INTC_OFFSET + 0x04:
            return self._status() & self.words.get(INTC_OFFSET + 0x08, 0)
        if window.WIZARD.offset <= offset < window.CONTROL.offset:
            return {0x004: 1, 0x200: 10 << 8 | 1}.get(offset & 0xFFF, self.words.get(offset, 0))
        if window.CONTROL.offset <= offset < MODULE_OFFSET and offset & 0xFFFF == 0:
            return 0xED02_0100
        if window.CONTROL.offset <= offset < MODULE_OFFSET and offset & 0xFFFF == 8:
            return 0x3F
        return self.words.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        self._pass(ACCESS_CYCLES)
        slot, register = (offset - MODULE_OFFSET) >> 16, offset & 0xFFFF
        enable = INTC_OFFSET + 0x08
        if offset == INTC_OFFSET + 0x10:
            self.words[enable] = self.words.get(enable, 0) | value
        elif offset == INTC_OFFSET + 0x14:
            self.words[enable] = self.words.get(enable, 0) & ~value
        elif slot >= 0 and register == 0 and value & 1:
            self.done_at[slot] = self.cycle + WORK_CYCLES
        elif slot >= 0 and register == 0x0C:
            self.done_at.pop(slot, None)
        else:
            self.words[offset] = value

    def step_until(self, deadline_s: float, stop_on: StopReason = StopReason.NONE) -> StopReason:
        deadline = max(self.cycle, round(deadline_s / CYCLE_S))
        while not self._untold & stop_on and self.cycle < deadline:
            self._pass(1)
        told, self._untold = self._untold & stop_on, self._untold & ~stop_on
        return told or StopReason.DEADLINE

    def attach(self, sink: Any) -> None:
        self.sink = sink

    def start_config(self, slot: int, module: Path, size: int, fault: LoadFault | None, identity: Any) -> None:
        assert self.load_ends is None
        self.loads.append((slot, size, fault))
        self.load_ends = self.cycle + round(size / self.profile.configuration.bytes_per_s / CYCLE_S)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree with a shell and one module in it."""
    module, shell = tmp_path / "bitstreams" / "toy", tmp_path / "hw" / "top" / "shell"
    module.mkdir(parents=True)
    shell.mkdir(parents=True)
    (module / "manifest.yaml").write_text(MANIFEST)
    for folder, name in ((module, "toy"), (shell, "shell")):
        (folder / f"{name}.sv").write_text(f"module {name}; endmodule\n")
        (folder / f"{name}.f").write_text(f"{name}.sv\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "build_module", lambda name, *_: (Path("toy.so"), build.module_build_hash(name)))
    monkeypatch.setenv("EDDY_BUILD_DIR", str(tmp_path / "build"))
    return tmp_path


@pytest.fixture
def files(tree: Path) -> BitstreamSet:
    return list_or_build("tiny")


@pytest.fixture
def make_device(tree: Path) -> Iterator[Callable[..., SimDevice]]:
    before = vars(Device).get("_active_device")

    def make(coherent: bool = False, profile: str = "tiny") -> SimDevice:
        board = load_profile(profile)
        device = SimDevice(board, coherent, board=lambda: FakeBoard(board, coherent))  # type: ignore[arg-type,return-value]
        Device.active_device = device
        return device

    yield make
    if before is not None:
        Device.active_device = before
    elif "_active_device" in vars(Device):
        del Device._active_device


@pytest.fixture
def device(make_device: Callable[..., SimDevice]) -> SimDevice:
    return make_device()


@pytest.fixture
def overlay(device: SimDevice, files: BitstreamSet) -> Any:
    return pynq.Overlay(str(files.overlay))


def fake(device: SimDevice) -> FakeBoard:
    assert isinstance(device.sim, FakeBoard)
    return device.sim


def test_an_overlay_is_loaded_and_shows_its_blocks(device: SimDevice, overlay: Any) -> None:
    assert overlay.is_loaded()
    assert overlay.timestamp
    assert {"shell", "slot_ctrl0", "slot_clk1", "slot0/module"} <= set(overlay.ip_dict)
    assert set(overlay.hierarchy_dict) == {"slot0", "slot1"}
    assert overlay.slot_ctrl1.mmio.base_addr == 0xA005_0000
    assert pynq.PL.bitfile_name == overlay.bitfile_name
    assert overlay.mem_dict["PSDDR"]["size"] == device.profile.dram.bytes
    assert overlay.PSDDR.base_address == 0


def test_a_second_download_resets_the_board(device: SimDevice, overlay: Any) -> None:
    first = overlay.timestamp
    overlay.download()
    assert fake(device).resets == 1
    assert overlay.timestamp != first
    assert overlay.is_loaded()


def test_without_download_the_overlay_describes_what_is_there(device: SimDevice, files: BitstreamSet) -> None:
    overlay = pynq.Overlay(str(files.overlay), download=False)
    assert overlay.is_loaded()
    assert overlay.slot_ctrl0.mmio.read(0) == 0xED02_0100


def test_registers_go_over_the_bus(device: SimDevice) -> None:
    mmio = pynq.MMIO(PL_BASE, 0x1000)
    mmio.write(0x28, 0xDEAD_BEEF)
    assert mmio.read(0x28) == 0xDEAD_BEEF
    assert mmio.array[10] == 0xDEAD_BEEF
    assert fake(device).cycle == 3 * ACCESS_CYCLES
    mmio.write(0x30, bytes(range(8)))
    assert mmio.read(0x30, 8) == int.from_bytes(bytes(range(8)), "little")
    assert np.array(mmio.array[12:14]).tolist() == [0x03020100, 0x07060504]
    with pytest.raises(IndexError):
        mmio.read(0x1000)
    with pytest.raises(InvalidRequest, match="nothing is at"):
        pynq.MMIO(0x9000_0000, 16)


def test_registers_are_an_array_as_on_a_board(device: SimDevice) -> None:
    array = pynq.MMIO(PL_BASE, 0x1000).array
    assert isinstance(array, np.ndarray)
    assert (array.dtype, array.shape, array.nbytes, array.ndim) == (np.uint32, (0x400,), 0x1000, 1)
    array[8:12] = [1, 2, 3, 0xFFFF_FFFF]
    part = array[8:12]
    assert isinstance(part, np.ndarray)
    assert part.tolist() == [1, 2, 3, 0xFFFF_FFFF]
    for read in (np.array, np.asarray, np.copy, lambda registers: registers.copy()):
        assert read(part).tolist() == [1, 2, 3, 0xFFFF_FFFF]
    assert part.view("u8").tolist() == [2 << 32 | 1, 0xFFFF_FFFF << 32 | 3]
    assert part.view("u8")[1] == 0xFFFF_FFFF << 32 | 3
    assert (part[[0, 2]].tolist(), part[::2].tolist(), part[-1]) == ([1, 3], [1, 3], 0xFFFF_FFFF)
    assert (part + 1).tolist() == [2, 3, 4, 0]
    assert (part & 2).any()
    assert int(np.sum(part[:3])) == int(part[:3].sum()) == 6
    part[1] |= 0x10
    part[:1] += 4
    assert array[8:11].tolist() == [5, 0x12, 3]
    part.fill(7)
    assert np.array_equal(part, [7] * 4)
    with pytest.raises(TypeError, match="not as float32"):
        part.view("f4")
    before = fake(device).cycle
    array[16:32]
    assert fake(device).cycle == before, "a slice alone accesses nothing"


def test_memory_can_be_mapped(device: SimDevice) -> None:
    buffer = pynq.allocate(16)
    buffer[:] = range(16)
    buffer.flush()
    assert pynq.MMIO(buffer.device_address, 64).read(20) == 5


def test_buffers_lie_in_memory_and_are_given_back(device: SimDevice) -> None:
    profile = device.profile
    whole = pynq.allocate((profile.arena.bytes,), "u1")
    assert whole.physical_address == profile.arena.base
    small = pynq.allocate((3, 5), dtype=np.int16)
    assert small.physical_address == profile.arena.base + profile.arena.bytes
    assert small.shape == (3, 5)
    assert not small.any()
    assert small[1:].physical_address == small.physical_address + 10
    view = small[2]
    del small
    assert device.pages.count == 2, "a view keeps its buffer"
    del view
    assert device.pages.count == 1
    with pytest.raises(MemoryExhausted, match="no room"):
        pynq.allocate(profile.dram.bytes, "u1")
    with whole:
        pass
    whole.freebuffer()
    assert device.pages.count == 0


@pytest.mark.parametrize("coherent", [False, True])
def test_a_forgotten_flush_shows_unless_memory_is_coherent(
    make_device: Callable[..., SimDevice], coherent: bool
) -> None:
    device = make_device(coherent)
    buffer = pynq.allocate(4, "u4")
    at = buffer.device_address - device.profile.dram.base
    memory = device.sim.device_dram[at : at + 16].view("u4")
    buffer[:] = 7
    assert memory.tolist() == ([7] * 4 if coherent else [0] * 4)
    buffer.sync_to_device()
    assert memory.tolist() == [7] * 4
    memory[2] = 9
    assert buffer[2] == (9 if coherent else 7)
    buffer.invalidate()
    assert buffer[2] == 9


def test_a_new_buffer_holds_nothing_of_an_old_one(device: SimDevice) -> None:
    old = pynq.allocate(4)
    at = old.device_address - device.profile.dram.base
    device.sim.device_dram[at : at + 16] = 0xAA  # a module wrote here, and the CPU never looked
    old.freebuffer()
    new = pynq.allocate(4)
    assert new.device_address - device.profile.dram.base == at
    assert not device.sim.device_dram[at : at + 16].any()


def test_clocks(overlay: Any) -> None:
    assert pynq.Clocks.fclk0_mhz == pytest.approx(99.999)
    assert pynq.Clocks.cpu_mhz > 1000
    pynq.Clocks.fclk1_mhz = 50
    assert pynq.Clocks.fclk1_mhz == pytest.approx(50, rel=0.01)
    with pytest.raises(InvalidRequest, match="fixed by the profile"):
        pynq.Clocks.fclk0_mhz = 50
    assert pynq.Clocks.fclk0_mhz == pytest.approx(99.999)


def test_a_partial_download_takes_the_ports_time(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    partial = files.find("toy", 1)
    ends: list[int] = []
    start_config = device.sim.start_config

    def timed(*arguments: Any) -> None:
        start_config(*arguments)
        ends.append(fake(device).load_ends or 0)
        ends.append(fake(device).cycle)

    device.sim.start_config = timed  # type: ignore[method-assign,assignment]
    overlay.pr_download(partial.region, str(partial.file))
    assert fake(device).loads == [(1, 24000, None)]
    assert ends[0] - ends[1] == 24000 / 400e6 / CYCLE_S
    assert fake(device).cycle > ends[0]
    assert overlay.pr_dict["slot1"]["loaded"] == str(partial.file)


def test_after_a_partial_download_the_module_is_there(overlay: Any, files: BitstreamSet) -> None:
    overlay.pr_download("slot0", str(files.find("toy", 0).file))
    assert "slot0/module" not in overlay.ip_dict
    assert "slot1/module" in overlay.ip_dict
    toy = overlay.slot0.toy
    toy.register_map.source = 0x1234_5678_9ABC
    assert toy.read(0x10) == 0x5678_9ABC
    assert int(toy.register_map.source_2) == 0x1234
    assert int(toy.register_map.source) == 0x1234_5678_9ABC
    assert "toy/1" not in overlay.ip_dict
    assert overlay.interrupt_pins["slot0/toy/interrupt"]["index"] == 0
    assert toy.interrupt is not None
    # The hierarchy's own method, and the same region again.
    region = overlay.slot0
    for _ in range(2):
        region.download(str(files.find("toy", 0).file))
    assert overlay.slot0.toy.register_map.CTRL.AP_START == 0


def start(ip: Any) -> None:
    ip.register_map.GIER.Enable = 1
    ip.register_map.IP_IER.CHAN0_INT_EN = 1
    ip.register_map.CTRL.AP_START = 1


def test_an_interrupt_is_awaited(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    for slot in (0, 1):
        overlay.pr_download(f"slot{slot}", str(files.find("toy", slot).file))
    ips = [overlay.slot0.toy, overlay.slot1.toy]

    async def run() -> list[int]:
        for ip in ips:
            start(ip)
        begin = fake(device).cycle
        await asyncio.gather(*(ip.interrupt.wait() for ip in ips))
        for ip in ips:
            ip.write(0x0C, 1)
        return [begin, fake(device).cycle]

    first = asyncio.run(run())
    assert 0.9 * WORK_CYCLES < first[1] - first[0] < 1.1 * WORK_CYCLES


def test_interrupts_come_in_a_second_loop(device: SimDevice, overlay: Any) -> None:
    async def once() -> None:
        pin = pynq.Interrupt("slot1/module/interrupt")
        device.sim.write32(MODULE_OFFSET + 0x1_0000, 1)
        await pin.wait()
        device.sim.write32(MODULE_OFFSET + 0x1_000C, 1)

    for _ in range(3):
        begin = fake(device).cycle
        asyncio.run(once())
        assert 0.9 * WORK_CYCLES < fake(device).cycle - begin < 1.1 * WORK_CYCLES


def test_waiting_with_nothing_to_come_can_be_given_up(device: SimDevice, overlay: Any) -> None:
    async def run() -> None:
        await asyncio.wait_for(pynq.Interrupt("slot0/module/interrupt").wait(), 0.01)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(run())
    assert fake(device).cycle > 0


def test_a_wait_given_up_leaves_later_loops_alone(device: SimDevice, overlay: Any) -> None:
    """What waited in vain stays with PYNQ's controller; the next loop still gets its own interrupt, in bounded time."""

    async def in_vain() -> None:
        await asyncio.wait_for(pynq.Interrupt("slot0/module/interrupt").wait(), 0.01)

    async def once(slot: int) -> None:
        pin = pynq.Interrupt(f"slot{slot}/module/interrupt")
        device.sim.write32(MODULE_OFFSET + slot * 0x1_0000, 1)
        await asyncio.wait_for(pin.wait(), 180)
        device.sim.write32(MODULE_OFFSET + slot * 0x1_0000 + 0xC, 1)

    for slot in (1, 0):
        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(in_vain())
        asyncio.run(once(slot))
        asyncio.run(asyncio.sleep(0))


@pytest.mark.parametrize("flip", [150, 300, 5000, 19000])
def test_a_damaged_file_is_refused(device: SimDevice, overlay: Any, files: BitstreamSet, flip: int) -> None:
    path = files.find("toy", 0).file
    data = bytearray(path.read_bytes())
    data[flip] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match=r".") as caught:
        overlay.pr_download("slot0", str(path))
    assert isinstance(caught.value, EddyError)


def test_a_failed_load_raises_as_a_board_does(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    device.inject(0, FAILED_LOAD)
    with pytest.raises(LoadRefused) as caught:
        overlay.pr_download("slot0", str(files.find("toy", 0).file))
    assert caught.value.errno == errno.EIO
    overlay.pr_download("slot0", str(files.find("toy", 0).file))


def test_a_damaged_image_fails_as_the_port_fails(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    path = files.find("toy", 0).file
    data = path.read_bytes()
    path.write_bytes(data[:-100] + bytes(80) + data[-20:])
    with pytest.raises(LoadRefused, match="reported an error") as caught:
        overlay.pr_download("slot0", str(path))
    assert caught.value.errno == errno.EIO


def test_what_comes_through_the_engine_is_asked_of_the_loader(device: SimDevice, files: BitstreamSet) -> None:
    sink = fake(device).sink
    _, body = bitfile.read_bit(files.find("toy", 1).file)
    assert sink.image_begins(body[:400]).slot == 1
    assert sink.image_ends(body).module == Path("toy.so")
    assert sink.image_ends(body[:500] + bytes(4) + body[504:]).module is None, "a wrong CRC"
    device.inject(1, LoadFault(fails=True, cause=Cause.NOT_DONE))
    assert sink.image_begins(body).fault.cause is Cause.NOT_DONE
    assert sink.image_ends(body).module is None
    assert sink.image_begins(body).fault == LoadFault(), "a fault is one load's"
    other = bitfile.Identity("toy", "0" * 16, "1" * 16, 1, device.profile.part)
    for refused in (b"", bytes(400), bitfile.payload(other, 2048)):
        assert sink.image_begins(refused) is None
    with pytest.raises(ValueError, match="no device makes an engine end with malformed"):
        LoadFault(fails=True, cause=Cause.MALFORMED)


def test_a_load_that_brought_no_module_says_why(
    device: SimDevice, overlay: Any, files: BitstreamSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device.sim, "load_error", "wrong.so is no module of this board's interface")
    with pytest.raises(LoadRefused, match=r"slot0 got no module: wrong\.so is no module") as caught:
        overlay.pr_download("slot0", str(files.find("toy", 0).file))
    assert caught.value.errno == errno.EIO


def test_a_file_of_another_region_part_or_shell_is_refused(
    device: SimDevice, overlay: Any, files: BitstreamSet, tree: Path
) -> None:
    with pytest.raises(LoadRefused, match="built for slot1, not for slot0"):
        overlay.pr_download("slot0", str(files.find("toy", 1).file))
    other = list_or_build("kv260").find("toy", 0)
    with pytest.raises(LoadRefused, match="is for part"):
        overlay.pr_download("slot0", str(other.file))
    with pytest.raises(LoadRefused, match="partial bitstream; load it as one"):
        pynq.Bitstream(str(files.find("toy", 0).file)).download()
    (tree / "hw" / "top" / "shell" / "shell.sv").write_text("module shell; wire changed; endmodule\n")
    with pytest.raises(LoadRefused, match="is for shell"):
        overlay.pr_download("slot0", str(files.find("toy", 0).file))


def test_a_clock_takes_turns_with_its_worker(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    clock = SimClock(device)
    loop = asyncio.new_event_loop()
    bell = asyncio.Event()
    partial = files.find("toy", 0)
    threads = []

    def ring() -> None:
        loop.call_soon_threadsafe(bell.set)

    def work() -> None:
        threads.append(threading.current_thread())
        overlay.pr_download("slot0", str(partial.file))

    future = clock.start(work, ring)
    begin = fake(device).cycle
    assert device.configuring
    assert not future.done()
    with pytest.raises(Conflict, match="one configuration port"):
        clock.start(work, lambda: None)
    overlay.slot_ctrl1.mmio.read(0)
    clock.wait(clock.now_s() + 1e-6, loop, bell)
    assert not bell.is_set()
    clock.wait(clock.now_s() + 1.0, loop, bell)
    assert bell.is_set()
    assert future.result() is None
    assert threads[0] is not threading.current_thread()
    assert 20000 / 400e6 / CYCLE_S <= fake(device).cycle - begin < 20000 / 400e6 / CYCLE_S + 200
    assert fake(device).words.get(window.CONTROL.offset + 4) is None, (
        "with a clock in charge, nobody else opens the slot"
    )
    loop.close()


def test_a_clock_hands_over_interrupts_and_errors(device: SimDevice, overlay: Any, files: BitstreamSet) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    clock, bell, pin = SimClock(device), asyncio.Event(), pynq.Interrupt("slot1/module/interrupt")
    task = loop.create_task(pin.wait())
    task.add_done_callback(lambda _: bell.set())
    clock.wait(0.0, loop, bell)
    device.sim.write32(MODULE_OFFSET + 0x1_0000, 1)
    begin = fake(device).cycle
    clock.wait(clock.now_s() + 1.0, loop, bell)
    assert bell.is_set()
    assert WORK_CYCLES <= fake(device).cycle - begin < WORK_CYCLES + 20 * ACCESS_CYCLES
    bell.clear()
    now_s = clock.now_s()
    clock.wait(now_s + 1e-4, loop, bell)
    assert clock.now_s() == pytest.approx(now_s + 1e-4)
    device.inject(0, FAILED_LOAD)
    region, file = "slot0", str(files.find("toy", 0).file)
    future = clock.start(lambda: overlay.pr_download(region, file), lambda: None)
    clock.wait(clock.now_s() + 1e-4, loop, bell)
    assert isinstance(future.exception(), OSError)
    asyncio.set_event_loop(None)
    loop.close()


def test_the_list_of_files_repairs_and_keeps_signatures(files: BitstreamSet, tree: Path) -> None:
    from eddy.board.images.signing import generate

    assert list_or_build("tiny") == files
    listed = files.to_json()
    assert [(p["slot"], p["region"], p["module"], p["bytes"]) for p in listed["partials"]] == [
        (0, "slot0", "toy", 20000),
        (1, "slot1", "toy", 24000),
    ]
    first = files.partials[0].file
    good = first.read_bytes()
    assert bitfile.split(good)[0].bytes == 20000
    first.write_bytes(good[:-1] + b"\0")
    assert list_or_build("tiny").partials[0].file.read_bytes() == good
    generate(tree / "release.key")
    signed = list_or_build("tiny", key=tree / "release.key")
    assert signed.partials[0].image.signature
    assert list_or_build("tiny") == signed
    (tree / "bitstreams" / "toy" / "toy.sv").write_text("module toy; wire changed; endmodule\n")
    changed = list_or_build("tiny")
    assert changed.partials[0].image.build != signed.partials[0].image.build
    assert not changed.partials[0].image.signature
    (tree / "bitstreams" / "toy" / "manifest.yaml").unlink()
    assert not list_or_build("tiny").partials
    assert not first.exists()
