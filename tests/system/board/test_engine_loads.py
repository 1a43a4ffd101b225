# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Loads through the shell's own configuration engine, in RTL: what comes in, how long it takes, and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynq
import pytest
from contract.harness import Harness, marking, rtl
from eddy.board.overlay import OverlayFabric
from eddy.board.port.port import Access, BoardEvent, Cause, EventKind, SlotPhase
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import ConfigurationFailed
from eddy_drivers.icap_engine import IcapEngine
from eddy_drivers.regs import icap_engine as regs
from eddy_drivers.regs import window
from eddy_sim.boards.faults import ENGINE_CAUSES, LoadFault
from eddy_sim.design.bitstreams import BitstreamSet, list_or_build
from eddy_sim.device import SimDevice
from pynq.pl_server.device import Device

pytestmark = pytest.mark.rtl


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    found = rtl(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def files() -> BitstreamSet:
    return list_or_build("tiny")


@pytest.fixture
def fabric(files: BitstreamSet) -> Iterator[OverlayFabric]:
    """The fabric alone, with nobody else in charge of time."""
    before = vars(Device).get("_active_device")
    device = SimDevice("tiny", coherent=False)
    Device.active_device = device
    found = opened(pynq.Overlay(str(files.overlay), device=device), device)
    yield found
    found.close()
    if before is not None:
        Device.active_device = before


def opened(overlay: Any, device: SimDevice) -> OverlayFabric:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return OverlayFabric(overlay, device.profile, loop)


def behind(found: OverlayFabric) -> tuple[SimDevice, IcapEngine]:
    return found._overlay.device, found._overlay.icap_engine


def cycles_of(found: OverlayFabric, files: BitstreamSet, slot: int) -> int:
    device, _ = behind(found)
    before = device.sim.shell_cycles
    found.download(f"slot{slot}", files.find("dct", slot).file)
    assert device.sim.loaded(slot), device.sim.load_error
    return device.sim.shell_cycles - before


def test_a_load_takes_a_cycle_a_word(fabric: OverlayFabric, files: BitstreamSet) -> None:
    """What is written beside the words (registers, the first read of memory) is no more than the profile leaves out."""
    device, _ = behind(fabric)
    taken = [cycles_of(fabric, files, slot) for slot in (0, 1, 0)]
    words = [device.profile.slots[slot].image_bytes // 4 for slot in (0, 1, 0)]
    assert all(0 < cycles - count < 150 for cycles, count in zip(taken, words, strict=True)), taken
    assert abs((taken[1] - taken[2]) - (words[1] - words[2])) <= 8


def loaded(harness: Harness, image: str) -> BoardEvent:
    harness.board.load(0, image)
    event = harness.next_event()
    assert event.kind is EventKind.CONFIGURED
    return event


def test_a_load_and_a_flood_of_memory_leave_each_other_a_share(harness: Harness) -> None:
    images = [image for image in harness.board.images() if image.slot == 0][:2]
    alone = loaded(harness, images[0].sha256)
    harness.load(1, "flood")
    device = device_of(harness)

    def flooded() -> int:
        return sum(device.sim.served.user(1, context).read_bytes for context in range(16))

    buffer = harness.board.allocate(65536, "job")
    harness.board.launch(1, marking(buffer, limit_s=1.0, access=Access.READ))
    before = flooded()
    beside = loaded(harness, images[1].sha256)
    served = flooded() - before
    seconds = beside.at_s - beside.started_s
    assert seconds < 2 * (alone.at_s - alone.started_s), "half of the port is enough for a word a cycle"
    # The port reads 8 bytes a cycle of 10 ns, the engine takes 4; the slot asks at 75 MHz.
    assert served > 2e8 * seconds


@pytest.mark.parametrize("cause", ENGINE_CAUSES, ids=lambda cause: cause.name.lower())
def test_a_failed_load_is_named_and_leaves_the_slot_closed(harness: Harness, cause: regs.Cause) -> None:
    assert harness.load(1).kind is EventKind.CONFIGURED
    event = harness.load(0, LoadFault(fails=True, cause=cause))
    assert (event.kind, event.cause) == (EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR)
    assert cause.name.lower() in event.detail
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    device = device_of(harness)
    assert not device.sim.loaded(0)
    # Nobody else noticed, and the next load is as good as any.
    buffer = harness.board.allocate(4096, "job")
    harness.board.launch(1, marking(buffer))
    assert harness.next_event().kind is EventKind.ITEM_DONE
    assert harness.load(0).kind is EventKind.CONFIGURED


def device_of(harness: Harness) -> SimDevice:
    assert isinstance(harness.board, PynqBoard)
    fabric = harness.board._fabric
    assert isinstance(fabric, OverlayFabric)
    return behind(fabric)[0]


def test_a_load_that_is_aborted_fails_and_the_next_one_does_not(harness: Harness) -> None:
    harness.board.load(0, harness.image(0).sha256)
    device = device_of(harness)
    assert device.configuring
    engine = device.mmap(window.BASE + window.ENGINE.offset, window.ENGINE.bytes)
    while not regs.LEFT.decode(int(engine[regs.LEFT.offset // 4]))["words"] < 4000:
        pass
    engine[regs.CONTROL.offset // 4] = regs.CONTROL.encode(abort=1)
    event = harness.next_event()
    assert event.kind is EventKind.CONFIGURATION_FAILED
    assert "aborted" in event.detail
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED
    assert not device.sim.loaded(0)
    assert harness.load(0).kind is EventKind.CONFIGURED


def test_a_load_whose_boardd_died_ends_when_the_next_one_opens_the_fabric(
    fabric: OverlayFabric, files: BitstreamSet
) -> None:
    device, engine = behind(fabric)
    image = files.find("dct", 0).file.read_bytes()
    engine.begin(fabric.memory.address, len(image) // 4 * 4, 0)
    assert engine.status().busy
    fabric._engine_port(device.profile)
    assert not engine.status().busy
    assert cycles_of(fabric, files, 0) < 5150


def test_the_port_that_the_processor_has_is_waited_for_and_named(fabric: OverlayFabric, files: BitstreamSet) -> None:
    device, _ = behind(fabric)
    device.sim.give_port(False)
    with pytest.raises(ConfigurationFailed, match="port_timeout, 5000 words left") as caught:
        fabric.download("slot0", files.find("dct", 0).file)
    assert caught.value.details["engine"] == "port_timeout"
    device.sim.give_port(True)
    assert cycles_of(fabric, files, 0) < 5150


def test_an_image_of_another_shell_is_refused_by_the_device(
    fabric: OverlayFabric, files: BitstreamSet, tmp_path: Path
) -> None:
    """It never reaches a slot: what is in them stays."""
    device, engine = behind(fabric)
    cycles_of(fabric, files, 0)
    data = bytearray(files.find("dct", 0).file.read_bytes())
    at = data.index(b'"shell":"') + len(b'"shell":"')
    data[at : at + 4] = b"0000" if data[at : at + 4] != b"0000" else b"1111"
    other = tmp_path / "other.bit"
    other.write_bytes(data)
    with pytest.raises(ConfigurationFailed, match="port_error"):
        fabric.download("slot0", other)
    assert device.sim.loaded(0)
    assert engine.status().left > 4000


def test_no_slot_is_ever_granted_the_engines_memory(fabric: OverlayFabric) -> None:
    assert fabric._engine is not None
    begin = int(fabric._engine._memory.device_address)
    arena = fabric.memory.address, fabric.memory.address + len(fabric.memory.bytes)
    assert not arena[0] <= begin < arena[1]
    assert begin % 128 == 0
    found = fabric._overlay.icap_engine
    assert found.ended() or not found.status().busy
    assert regs.WINDOW_FIRST.decode(int(found.mmio.read(regs.WINDOW_FIRST.offset)))["page"] > 0
