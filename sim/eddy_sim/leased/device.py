# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A leased slot as a PYNQ device: stock `pynq` drives it from a machine elsewhere, over the server's own API.

What a script names by address is looked up here, in the overlay's metadata; to the server goes only an offset in the
slot's own window, so that nothing else can be asked for. Whatever region of the overlay the script loads first is the
slot that the lease holds; a lease of the board has every region as it is.
"""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path
from typing import Any

import eddy_drivers.hls_accelerator
import eddy_drivers.shell  # noqa: F401 - imported, so that overlays bind the drivers
from eddy.board.port.port import WINDOW_BYTES
from eddy.board.port.profile import load_profile
from eddy.core.errors import EddyError, InvalidRequest
from eddy_drivers.regs.axi_intc import Input
from pynq.interrupt import _InterruptController

from eddy_sim.boards.loader import LoadRefused, read_image
from eddy_sim.design.addressmap import INTC_OFFSET, PL_BASE, PL_BYTES, module_base
from eddy_sim.leased.holder import LeaseHolder
from eddy_sim.leased.interrupts import LeasedInterrupts
from eddy_sim.leased.memory import LeasedMemory
from eddy_sim.processor.clocks import ProcessorClocks
from eddy_sim.processor.registers import RegisterArray
from eddy_sim.processor.tables import OverlayTables

LEASE, TOKEN, PROFILE = "EDDY_LEASE", "EDDY_LEASE_TOKEN", "EDDY_PROFILE"
RAW_IRQ = 121
"""Interrupt of the processor that `pl_ps_irq0` is (Ref: UG1085, table of system interrupts)."""


class LeasedDevice(OverlayTables):
    """A slot that is held on a board elsewhere.

    Args:
        holder: Holds the lease; the environment says which where not given (`EDDY_LEASE`, `EDDY_LEASE_TOKEN`).
        profile: Name of the board's profile; `EDDY_PROFILE`, or what the server says, where not given.

    Raises:
        EddyError: There is no such lease, it has ended, or has no slot yet.
    """

    def __init__(self, holder: LeaseHolder | None = None, profile: str = "") -> None:
        self._holder = holder or LeaseHolder(os.environ[LEASE], os.environ.get(TOKEN, ""))
        name = profile or os.environ.get(PROFILE) or self._holder.profile
        super().__init__(f"eddy_lease_{self._holder.name}", load_profile(name))
        self.name = f"eddy-lease-{self._holder.name}"
        self.capabilities = {"MEMORY_MAPPED": True, "REGISTER_RW": False, "CALLABLE": False}
        self.arch = "aarch64"
        self._memory = LeasedMemory(self, self._holder)
        self._interrupts = LeasedInterrupts(self._await)
        self._clocks = ProcessorClocks(self.profile.shell_hz)  # the processor's own: nothing of the board
        self._region: int | None = None

    def __deepcopy__(self, _memo: dict[int, Any]) -> LeasedDevice:
        """A slot is one thing, however often a description that names it is copied."""
        return self

    @property
    def now_s(self) -> float:
        """Board seconds since the board started."""
        return self._holder.now_s

    # Registers and memory

    def mmap(self, base_addr: int, length: int) -> Any:
        """An array over a physical range: registers of a slot's module, the interrupt controller, or buffers.

        Raises:
            InvalidRequest: Nothing is there that a lease reaches.
        """
        offset, words = base_addr - PL_BASE, -(-length // 4)
        if offset == INTC_OFFSET:
            return RegisterArray(self._interrupts.read, self._interrupts.write, 0, words)
        for index in range(len(self.profile.slots)):
            at = base_addr - module_base(index)
            if at >= 0 and at + length <= WINDOW_BYTES:
                return RegisterArray(partial(self._read, index), partial(self._write, index), at, words)
        at = base_addr - self._memory.base_address
        if at >= 0 and at + length <= self._memory.size:
            return RegisterArray(self._memory.read_word, self._memory.write_word, at, words)
        if offset >= 0 and offset + length <= PL_BYTES:
            return RegisterArray(self._out_of_reach, self._out_of_reach, offset, words)
        clocks = self._clocks.mmap(base_addr, length)
        if clocks is not None:
            return clocks
        raise InvalidRequest(
            f"nothing is at {base_addr:#x} to {base_addr + length:#x} that lease {self._holder.name} reaches; its"
            f" memory is {self._memory.base_address:#x} to {self._memory.base_address + self._memory.size:#x}",
            field="base_addr",
        )

    def _read(self, region: int, offset: int) -> int:
        return self._holder.read(self._slot(region), offset)

    def _write(self, region: int, offset: int, value: int) -> None:
        self._holder.write(self._slot(region), offset, value)

    def _out_of_reach(self, offset: int, _value: int = 0) -> int:
        message = f"the register at {PL_BASE + offset:#x} is not of the leased slot's module"
        raise InvalidRequest(f"{message}: a lease reaches its own slot alone", field="base_addr")

    def _await(self, number: int) -> bool:
        """Wait for an input of the interrupt controller."""
        if not Input.MODULE <= number < Input.MODULE + len(self.profile.slots):
            raise InvalidRequest(f"interrupt {number} is not of the leased slot's module", field="interrupt")
        return self._holder.await_interrupt(self._slot(number - Input.MODULE))

    def _slot(self, region: int) -> int:
        """The slot that a region of the overlay is.

        Raises:
            InvalidRequest: It is another region than the lease's.
        """
        slots = self._holder.lease["slots"]
        if self._holder.lease["kind"] == "board":
            return region
        if self._region is None:
            self._region = region
        if region != self._region:
            mine, other = self.profile.slots[self._region].region, self.profile.slots[region].region
            message = f"lease {self._holder.name} holds one slot, which is {mine} here; {other} is out of reach"
            raise InvalidRequest(message, field="region")
        return int(slots[0])

    @property
    def default_memory(self) -> LeasedMemory:
        """The memory `pynq.allocate` takes buffers from."""
        return self._memory

    def get_memory(self, _description: dict[str, Any]) -> LeasedMemory:
        """The memory an entry of an overlay's `mem_dict` describes."""
        return self._memory

    def memory_description(self) -> dict[str, Any]:
        """The memory that buffers are allocated from."""
        return self._memory.desc

    def flush(self, _bo: Any, _offset: int, ptr: int, size: int) -> None:
        """Bring what was written to a buffer to the board."""
        self._memory.flush(ptr, size)

    def invalidate(self, _bo: Any, _offset: int, ptr: int, size: int) -> None:
        """Fetch a buffer as the board has it."""
        self._memory.invalidate(ptr, size)

    # Bitstreams

    def set_bitfile_name(self, bitfile_name: str) -> None:
        """Take an overlay's metadata, and let its interrupts find this slot's."""
        super().set_bitfile_name(bitfile_name)
        _InterruptController._uio_devices[RAW_IRQ] = self._interrupts

    def download(self, bitstream: Any, parser: Any = None) -> None:
        """Load the slot with what a partial bitstream holds, by its module's name; a full one is on the board already.

        Raises:
            LoadRefused: The file is damaged, or for another part or shell; or the load failed.
        """
        identity, _ = read_image(Path(bitstream.bitfile_name), self.profile)
        if bitstream.partial != (identity.slot >= 0):
            what = "a partial" if identity.slot >= 0 else "a full"
            raise LoadRefused(errno.EINVAL, f"{bitstream.bitfile_name} is {what} bitstream; load it as one")
        if bitstream.partial:
            self._load(identity.slot, identity.module)
        else:
            self._interrupts.forget()
            if parser is None:
                parser = self.get_bitfile_metadata(bitstream.bitfile_name)
        super().post_download(bitstream, parser, self.name)

    def _load(self, region: int, module: str) -> None:
        try:
            self._holder.load(self._slot(region), module)
        except EddyError as error:
            raise LoadRefused(errno.EINVAL, error.message) from error
        except OSError as error:
            raise LoadRefused(errno.EIO, str(error)) from error
