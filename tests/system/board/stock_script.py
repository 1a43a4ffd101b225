# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A script for a board, of stock PYNQ calls alone; only its first import knows that the board is simulated.

Standard input is what `eddy bitstreams --json` prints. It loads a module into up to four slots, runs them at the same
time, awaits their interrupts, and prints what it saw as JSON.
"""

import asyncio
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import eddy_sim.device  # noqa: F401
import numpy as np
from pynq import MMIO, PL, Bitstream, Clocks, DefaultIP, Device, Overlay, allocate

MODULE = "dct"
BLOCKS = 24

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)  # PYNQ's interrupts belong to the loop that is current when they are made
warnings.simplefilter("error", UserWarning)
listed = json.load(sys.stdin)
seen: dict[str, Any] = {}


class Dct(DefaultIP):  # type: ignore[misc]
    """A user's own driver, bound by type."""

    bindto = [f"eddy:hls:{MODULE}:1.0"]  # noqa: RUF012

    def start(self, source: Any, target: Any, blocks: int) -> None:
        """Transform `blocks` blocks from one buffer to another."""
        registers = self.register_map
        registers.GIER.Enable = 1
        registers.IP_IER.CHAN0_INT_EN = 1
        setattr(registers, "in", source.device_address)
        registers.out = target.device_address
        registers.blocks = blocks
        registers.CTRL.AP_START = 1

    async def finish(self) -> int:
        """Wait for the interrupt and take it away."""
        await self.interrupt.wait()
        done = int(self.register_map.CTRL.AP_DONE)
        self.register_map.IP_ISR = 1
        return done


overlay = Overlay(listed["overlay"])
cycles = MMIO(overlay.ip_dict["shell"]["phys_addr"], 0x1000)


def now() -> int:
    """Shell-clock cycles; reading the low word latches the high one."""
    low = int(cycles.read(0x10))
    return int(cycles.read(0x14)) << 32 | low


seen["device"] = Device.active_device.name
seen["loaded"] = overlay.is_loaded()
seen["same"] = overlay.bitfile_name == PL.bitfile_name and overlay.timestamp == PL.timestamp
seen["ips"] = sorted(overlay.ip_dict)
seen["id"] = cycles.read(0) >> 16
seen["fclk0_mhz"] = Clocks.fclk0_mhz
seen["before"] = MMIO(overlay.ip_dict["slot0/module"]["phys_addr"], 0x10000).read(0xF000)

with allocate((64,), dtype="u4") as scratch:
    scratch[:] = np.arange(64)
    scratch.flush()
    seen["memory"] = MMIO(scratch.physical_address, scratch.nbytes).read(4 * 63)

partials = [partial for partial in listed["partials"] if partial["module"] == MODULE][:4]
seen["loads"] = []
for partial in partials:
    begin = now()
    overlay.pr_download(partial["region"], partial["file"])
    seen["loads"].append([partial["bytes"], now() - begin])

ips = [getattr(getattr(overlay, partial["region"]), MODULE) for partial in partials]
seen["magic"] = [int(ip.register_map.EDDY_MAGIC) for ip in ips]
seen["drivers"] = [type(ip).__name__ for ip in ips]

rng = np.random.default_rng(7)
sources = [allocate((BLOCKS, 8, 8), dtype="i2") for _ in ips]
targets = [allocate((BLOCKS, 8, 8), dtype="i2") for _ in ips]
for source in sources:
    source[:] = rng.integers(-128, 128, source.shape)
    source.flush()


async def run() -> list[int]:
    """All of them at once."""
    for ip, source, target in zip(ips, sources, targets, strict=True):
        ip.start(source, target, BLOCKS)
    done: list[int] = await asyncio.gather(*(ip.finish() for ip in ips))
    return done


begin = now()
seen["done"] = loop.run_until_complete(run())
seen["cycles"] = now() - begin

k, n = np.mgrid[0:8, 0:8]
matrix = np.where(k == 0, np.sqrt(1 / 8), 0.5) * np.cos((2 * n + 1) * k * np.pi / 16)
seen["error"] = 0.0
for source, target in zip(sources, targets, strict=True):
    target.invalidate()
    exact = matrix @ np.asarray(source, dtype=float) @ matrix.T
    seen["error"] = max(seen["error"], float(np.abs(np.asarray(target) - exact).max()))
seen["something"] = bool(np.asarray(targets[0]).any())

damaged = bytearray(Path(partials[0]["file"]).read_bytes())
damaged[-100] ^= 1
Path(sys.argv[1]).write_bytes(damaged)
try:
    Bitstream(sys.argv[1], partial=True).download()
    seen["damaged"] = "loaded"
except OSError as error:
    seen["damaged"] = error.errno

overlay.download()
seen["again"] = overlay.is_loaded() and now() < begin
json.dump(seen, sys.stdout)
