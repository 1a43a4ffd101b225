# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stock PYNQ's calls with each of their arguments: what works on the simulated board, what is refused in a sentence."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pynq
import pynq.pl_server.embedded_device as embedded
import pynq.pl_server.xrt_device as xrt
import pytest
from eddy.core.errors import EddyError
from eddy_sim.design.bitstreams import BitstreamSet, list_or_build
from eddy_sim.device import SimDevice
from eddy_sim.processor.buffers import SimMemory
from pynq import MMIO, PL, Bitstream, Device, Overlay, allocate

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("pynq")]
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "use-stock-pynq.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def files() -> BitstreamSet:
    return list_or_build("tiny")


@pytest.fixture
def overlay(files: BitstreamSet) -> Iterator[Any]:
    before = vars(Device).get("_active_device")
    device = SimDevice("tiny", coherent=False)
    Device.active_device = device
    yield Overlay(str(files.overlay), device=device)
    if before is None:
        del Device._active_device
    else:
        Device.active_device = before


def partial(files: BitstreamSet, module: str = "dct") -> str:
    return str(next(each.file for each in files.partials if (each.module, each.slot) == (module, 0)))


CALLS: dict[str, Callable[[Any, BitstreamSet], object]] = {
    "allocate a number": lambda o, f: allocate(4),
    "allocate a tuple": lambda o, f: allocate((2, 3), "i2"),
    "allocate a list": lambda o, f: allocate([2, 3]),
    "allocate nothing": lambda o, f: allocate(0),
    "allocate a scalar": lambda o, f: allocate(()),
    "allocate a record": lambda o, f: allocate(2, dtype=[("a", "u4"), ("b", "f4")]),
    "allocate on a device": lambda o, f: allocate(2, target=o.device),
    "allocate in a memory": lambda o, f: allocate(2, target=o.PSDDR),
    "allocate cacheable": lambda o, f: allocate(2, cacheable=1),
    "allocate uncached": lambda o, f: allocate(2, cacheable=0),
    "a memory by index": lambda o, f: o.device.get_memory_by_idx(0).allocate(2, "u4"),
    "a memory by name": lambda o, f: o.device.get_memory_by_name("PSDDR").mmio.read(0),
    "overlay not downloaded": lambda o, f: Overlay(str(f.overlay), download=False),
    "overlay ignore_version": lambda o, f: Overlay(str(f.overlay), ignore_version=True),
    "overlay gen_cache": lambda o, f: Overlay(str(f.overlay), gen_cache=True),
    "partial, not programmed": lambda o, f: o.pr_download("slot0", partial(f), program=False),
    "partial": lambda o, f: o.pr_download("slot0", partial(f), dtbo=None, program=True),
    "bitstream": lambda o, f: Bitstream(str(f.overlay), dtbo=None, partial=False, device=o.device).download(),
    "bitstream, partial": lambda o, f: Bitstream(partial(f), partial=True).download(),
    "bitstream's cache": lambda o, f: Bitstream(str(f.overlay)).gen_cache(),
    "PL's tables": lambda o, f: (PL.ip_dict, PL.mem_dict, PL.interrupt_pins, PL.hierarchy_dict, PL.devicetree_dict),
    "PL.reset": lambda o, f: PL.reset(),
    "free": lambda o, f: o.free(),
}
REFUSED: dict[str, tuple[Callable[[Any, BitstreamSet], object], str]] = {
    "allocate less than nothing": (lambda o, f: allocate(-1), "no shape"),
    "allocate less in a tuple": (lambda o, f: allocate((2, -1)), "no shape"),
    "allocate a fraction": (lambda o, f: allocate(2.5), "no shape"),
    "allocate a word": (lambda o, f: allocate("x"), "no shape"),
    "allocate objects": (lambda o, f: allocate(2, dtype=object), "Python objects"),
    "allocate from a pointer": (lambda o, f: allocate(2, pointer=(1, 2, 3)), "no pointer; it takes shape"),
    "allocate with a cache": (lambda o, f: allocate(2, cache=object()), "no cache"),
    "allocate with what is none": (lambda o, f: allocate(2, colour=1), "no colour"),
    "allocate too much": (lambda o, f: allocate(1 << 40), "no room"),
    "no such memory": (lambda o, f: o.device.get_memory_by_name("HBM"), "no memory 'HBM'"),
    "no such register": (lambda o, f: MMIO(0xFFFF_0000, 4), "nothing is at"),
    "an odd address": (lambda o, f: MMIO(0xA000_0001, 4), "multiple of 4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_works(name: str, overlay: Any, files: BitstreamSet) -> None:
    CALLS[name](overlay, files)
    assert allocate(1, target=overlay.device).device_address > 0, "the device goes on"


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_a_sentence(name: str, overlay: Any, files: BitstreamSet) -> None:
    call, said = REFUSED[name]
    with pytest.raises(EddyError, match=re.escape(said)):
        call(overlay, files)


def transform(overlay: Any, source: Any, target: Any) -> None:
    """Run the cosine transform from one buffer to another."""
    registers = overlay.slot0.dct.register_map
    setattr(registers, "in", source.device_address)
    registers.out, registers.blocks = target.device_address, len(source)
    registers.GIER.Enable = registers.IP_IER.CHAN0_INT_EN = 1

    async def run() -> None:
        registers.CTRL.AP_START = 1
        await asyncio.wait_for(overlay.slot0.dct.interrupt.wait(), 180)
        registers.IP_ISR = 1

    asyncio.run(run())


def test_uncached_buffers_need_no_flush_and_cached_ones_do(overlay: Any, files: BitstreamSet) -> None:
    overlay.pr_download("slot0", partial(files))
    source, target = (allocate((4, 8, 8), "i2", cacheable=False) for _ in range(2))
    assert (source.cacheable, source.coherent) == (False, True)
    source[:] = 100
    transform(overlay, source, target)
    assert target[0, 0, 0] == 800, "the DC coefficient of a block of 100s"
    source[2:].flush()  # and a flush, of a part too, is no mistake
    target.invalidate()
    assert target[0, 0, 0] == 800


def test_a_buffer_where_an_uncached_one_was_is_zero_for_the_cpu_and_for_modules(overlay: Any) -> None:
    first = allocate(1024, cacheable=False)
    first[:] = 7
    address = first.device_address
    first.freebuffer()
    again = allocate(1024)
    assert again.device_address == address
    assert not again.any()
    assert not overlay.device.sim.device_dram[address - overlay.device.profile.dram.base :][:4096].any()
    again[:] = 9  # in the cache alone
    again.freebuffer()
    last = allocate(1024, cacheable=False)
    assert last.device_address == address
    assert not last.any()
    last[:] = 5
    assert overlay.device.sim.device_dram[address - overlay.device.profile.dram.base] == 5


def _parameters(function: Any) -> set[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name for name, each in inspect.signature(function).parameters.items() if each.kind not in kinds} - {"self"}


@pytest.mark.parametrize(
    "function",
    [pynq.allocate, Overlay.__init__, Overlay.pr_download, Bitstream.__init__, MMIO.__init__],
    ids=lambda function: str(function.__qualname__),
)
def test_the_page_says_of_every_argument_of_the_installed_pynq_what_it_does(function: Any) -> None:
    names = _parameters(function)
    if function is pynq.allocate:  # what it hands on
        names |= _parameters(xrt._xrt_allocate) - {"device", "memidx"}
    assert {name for name in names if f"`{name}" not in PAGE} == set()


def test_whatever_pynqs_devices_offer_is_here_or_says_that_it_is_not(overlay: Any) -> None:
    """PYNQ's device of a board is not made here; its class says what a program may ask of one."""
    offered = {name for name in dir(embedded.EmbeddedDevice) if not name.startswith("_")}
    missing = {name for name in offered if not hasattr(overlay.device, name)}
    for name in missing:
        with pytest.raises(AttributeError, match="through XRT and the FPGA manager"):
            getattr(overlay.device, name)
    assert len(missing) < len(offered) / 2
    assert {"allocate_bo", "device_info"} <= missing
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        overlay.device.colour  # noqa: B018
    memory = {name for name in dir(embedded.EmbeddedXrtMemory) if not name.startswith("_")}
    assert {name for name in memory if not hasattr(SimMemory, name)} == set()


def test_words_of_memory_as_pynq_reads_them(overlay: Any) -> None:
    buffer = allocate(4, cacheable=False)
    overlay.PSDDR.mmio.write(buffer.device_address - overlay.PSDDR.base_address, 77)
    assert buffer[0] == 77
    assert np.asarray(buffer).dtype == np.uint32
