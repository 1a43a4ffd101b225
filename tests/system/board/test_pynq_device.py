# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The PYNQ device over RTL where things go wrong, in threads, and under a clock."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Iterator
from typing import Any

import pynq
import pytest
from eddy_sim.boards.faults import FAILED_LOAD, Behaviour, rogue, slow_port
from eddy_sim.design.bitstreams import BitstreamSet, list_or_build
from eddy_sim.device import LoadRefused, SimClock, SimDevice
from pynq.pl_server.device import Device

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("pynq")]
MAGIC, POISON = 0x45444459, 0xDEAD
IDENTITY = 0xF000


@pytest.fixture(scope="module")
def files() -> BitstreamSet:
    return list_or_build("tiny")


def open_overlay(files: BitstreamSet) -> Any:
    device = SimDevice("tiny", coherent=False)
    Device.active_device = device
    return pynq.Overlay(str(files.overlay), device=device)


@pytest.fixture
def overlay(files: BitstreamSet) -> Iterator[Any]:
    before = vars(Device).get("_active_device")
    yield open_overlay(files)
    if before is None:
        del Device._active_device
    else:
        Device.active_device = before


def load(overlay: Any, files: BitstreamSet, slot: int) -> Any:
    partial = files.find("dct", slot)
    overlay.pr_download(partial.region, str(partial.file))
    return getattr(overlay, partial.region).dct


def test_a_failed_load_leaves_the_slot_closed_and_the_others_alone(overlay: Any, files: BitstreamSet) -> None:
    kept = load(overlay, files, 1)
    overlay.device.inject(0, FAILED_LOAD)
    with pytest.raises(LoadRefused) as caught:
        load(overlay, files, 0)
    assert caught.value.errno == errno.EIO
    assert overlay.shell.configuration_error()
    assert overlay.slot_ctrl0.closed()
    assert overlay.slot0.module.mmio.read(IDENTITY) >> 16 == POISON
    assert kept.mmio.read(IDENTITY) == MAGIC
    assert load(overlay, files, 0).mmio.read(IDENTITY) == MAGIC


def test_a_full_bitstream_needs_no_overlay(overlay: Any, files: BitstreamSet) -> None:
    device = SimDevice("tiny", coherent=False)
    pynq.Bitstream(str(files.overlay), device=device).download()
    assert set(device.ip_dict) == set(overlay.ip_dict)
    assert device.timestamp


def test_a_slow_port_takes_its_time(overlay: Any, files: BitstreamSet) -> None:
    begin_s = overlay.device.now_s
    load(overlay, files, 0)
    once_s = overlay.device.now_s - begin_s
    overlay.device.inject(0, slow_port(3.0))
    begin_s = overlay.device.now_s
    load(overlay, files, 0)
    port_s = 20000 / 400e6
    assert overlay.device.now_s - begin_s == pytest.approx(once_s + 2 * port_s, rel=0.05)


def test_a_file_of_another_region_goes_where_it_was_built_for(overlay: Any, files: BitstreamSet) -> None:
    with pytest.raises(LoadRefused, match="built for slot1, not for slot0"):
        overlay.pr_download("slot0", str(files.find("dct", 1).file))
    assert overlay.device.sim.loaded(1)
    assert not overlay.device.sim.loaded(0)
    assert "slot0/module" in overlay.ip_dict


def test_a_module_that_does_not_answer_reads_as_poison(overlay: Any, files: BitstreamSet) -> None:
    overlay.device.inject(0, rogue(Behaviour.SILENT))
    module = load(overlay, files, 0)
    assert module.mmio.read(IDENTITY) == MAGIC
    module.write(0, 1)
    begin = overlay.device.sim.shell_cycles
    assert module.mmio.read(IDENTITY) >> 16 == POISON
    assert overlay.device.sim.shell_cycles - begin < 5000
    fault = overlay.slot_ctrl0.first_fault()
    assert fault is not None
    assert fault.cause.name.lower() == "control_timeout"


def test_a_rogue_modules_interrupt_is_awaited_too(overlay: Any, files: BitstreamSet) -> None:
    overlay.device.inject(1, rogue(Behaviour.SOUND))
    module = load(overlay, files, 1)
    buffer = pynq.allocate(16)

    async def run() -> None:
        module.write(0x10, buffer.device_address)
        module.write(0x14, 0)
        module.write(0x04, 1)
        module.write(0x08, 1)
        module.write(0, 1)
        await asyncio.wait_for(module.interrupt.wait(), 180)

    asyncio.run(run())
    buffer.invalidate()
    assert buffer[0] != 0


def test_every_wait_for_an_interrupt_ends_with_its_own_run(overlay: Any, files: BitstreamSet) -> None:
    module = load(overlay, files, 1)
    blocks = 32
    source, target = (pynq.allocate((blocks, 8, 8), dtype="i2") for _ in range(2))
    source[:] = 1
    source.flush()
    registers = module.register_map
    setattr(registers, "in", source.device_address)
    registers.out, registers.blocks = target.device_address, blocks
    registers.GIER.Enable = registers.IP_IER.CHAN0_INT_EN = 1

    async def run() -> bool:
        registers.CTRL.AP_START = 1
        await asyncio.wait_for(module.interrupt.wait(), 180)
        done = bool(registers.CTRL.AP_DONE)
        registers.IP_ISR = 1
        return done

    async def thrice() -> list[bool]:
        # In one event loop: PYNQ's Interrupt keeps its asyncio.Event, and that keeps its loop.
        return [await run() for _ in range(3)]

    assert asyncio.run(thrice()) == [True, True, True]


def test_other_threads_may_use_the_board_during_a_download(overlay: Any, files: BitstreamSet) -> None:
    bank, wrong = overlay.slot_ctrl1, []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            if bank.mmio.read(0) >> 16 != 0xED02:
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        module = load(overlay, files, 0)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong
    assert module.mmio.read(IDENTITY) == MAGIC


def trace(overlay: Any, files: BitstreamSet) -> list[int]:
    """Cycle counts at every step of a load under a clock, with register accesses meanwhile."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    clock, bell = SimClock(overlay.device), asyncio.Event()
    partial, sim = files.find("dct", 1), overlay.device.sim
    seen = [sim.shell_cycles]

    def ring() -> None:
        loop.call_soon_threadsafe(bell.set)

    future = clock.start(lambda: overlay.pr_download(partial.region, str(partial.file)), ring)
    seen.append(sim.shell_cycles)
    while not bell.is_set():
        overlay.slot_ctrl0.mmio.read(0)
        clock.wait(clock.now_s() + 7.3e-6, loop, bell)
        seen.append(sim.shell_cycles)
    future.result()
    assert overlay.slot_ctrl1.closed(), "with a clock in charge the download opens nothing"
    asyncio.set_event_loop(None)
    loop.close()
    return seen


def test_a_load_under_a_clock_repeats_to_the_cycle(overlay: Any, files: BitstreamSet) -> None:
    first = trace(overlay, files)
    second = trace(open_overlay(files), files)
    assert first == second
    assert len(first) > 5
    assert 24000 / 400e6 * 100e6 <= first[-1] - first[1] < 24000 / 400e6 * 100e6 + 10
