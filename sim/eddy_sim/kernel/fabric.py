# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fabric as the kernel sees it: what the configuration port loads, and what answers on the bus.

A full bitstream that is not ours, or none, leaves nothing that answers in the shell's window: an access then hangs the
processor, as it does on a board. The port checks what the PCAP driver checks: a CRC error of a partial bitstream comes
back without an errno, and the slot holds noise.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from eddy.board.port.profile import Profile
from eddy.core.errors import InvalidRequest

from eddy_sim.boards import faults
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.loader import EngineImages, LoadRefused, find_program
from eddy_sim.design import bitfile
from eddy_sim.design.addressmap import PL_BASE, PL_BYTES
from eddy_sim.processor.clocks import CRF_APB, CRL_APB, PAGE_BYTES, ProcessorClocks

PCAP_CTRL = 0xFFCA3008
"""Register of the processing system that says which configuration port has the device."""
FIRMWARE = Path("/lib/firmware")
OURS, NOBODYS, FOREIGN = "eddy", "empty", "foreign"
_PARTIAL = 1
_PCAP_PR = 1
"""Bit of `PCAP_CTRL`: the processor's port has the device, not the fabric's (UG1087)."""
_PORT_BOUND_S = 10.0


class Unanswered(Exception):
    """Nothing answers at an address: the processor waits for ever."""


@dataclass
class KernelFabric:
    """A board's fabric.

    Args:
        profile: What the board is.
        memory: The CPU's view of memory, shared with other processes.
    """

    profile: Profile
    memory: npt.NDArray[np.uint8]
    state: str = "unknown"
    flags: int = 0
    design: str = NOBODYS
    refusal: int = 0
    """The errno with which the next load is refused; 0: it is not."""
    faults: dict[int, faults.LoadFault] = field(default_factory=dict)
    """What is wrong with the next load of a slot."""
    loads: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, flags and bytes of what the port was given."""
    port_given: list[bool] = field(default_factory=list)
    """Each time software said which port has the device: whether the fabric's."""
    keeps_port: bool = False
    """Software's word on that is not heard, as where the firmware keeps such registers to itself."""
    log: list[str] = field(default_factory=list)
    """What the kernel says of it."""

    def __post_init__(self) -> None:
        self.board = SimBoard(self.profile, coherent=False, cpu_memory=self.memory)
        self.board.attach(EngineImages(self.profile, self.faults, self.log.append))
        # Out of reset the processor's port has the device.
        self.board.give_port(False)
        self._clocks = ProcessorClocks(self.profile.shell_hz)
        self._words: dict[int, int] = {PCAP_CTRL: _PCAP_PR}

    # The bus

    def read(self, address: int) -> int:
        """Load a word.

        Raises:
            Unanswered: Nothing is there.
        """
        if PL_BASE <= address < PL_BASE + PL_BYTES:
            self._check_ours(address)
            return self.board.read32(address - PL_BASE)
        page = self._clock_page(address)
        if page is not None:
            return int(page[0])
        return self._words.get(self._of_processor(address), 0)

    def write(self, address: int, value: int) -> None:
        """Store a word; errors as `read`."""
        if PL_BASE <= address < PL_BASE + PL_BYTES:
            self._check_ours(address)
            self.board.write32(address - PL_BASE, value)
            return
        page = self._clock_page(address)
        if page is not None:
            page[0] = value
        else:
            self._words[self._of_processor(address)] = value
            if address == PCAP_CTRL and not self.keeps_port:
                self.port_given.append(not value & _PCAP_PR)
                self.board.give_port(self.port_given[-1])

    def _check_ours(self, address: int) -> None:
        if self.design != OURS:
            raise Unanswered(f"{address:#x}: the fabric is {self.design}")

    def _clock_page(self, address: int) -> npt.NDArray[np.uint32] | None:
        inside = any(page <= address < page + PAGE_BYTES for page in (CRL_APB, CRF_APB))
        return self._clocks.mmap(address, 4) if inside else None  # type: ignore[return-value]

    def _of_processor(self, address: int) -> int:
        if not 0xF900_0000 <= address <= 0xFFFF_FFFF:
            raise Unanswered(f"{address:#x}: nothing is there")
        return address

    # The configuration port

    def load(self, name: str) -> None:
        """What a write of a file's name to `firmware` does; back when the port is done with it.

        Raises:
            OSError: Refused; `state` says at which step.
        """
        self.log.append(f"fpga_manager fpga0: writing {name} to Xilinx ZynqMP FPGA Manager")
        try:
            data = (FIRMWARE / name).read_bytes()
        except OSError:
            self.state = "firmware request error"
            raise
        self.loads.append((name, self.flags, len(data)))
        refusal, self.refusal = self.refusal, 0
        if refusal:
            self.state = "write error"
            raise OSError(refusal, "refused")
        body = np.frombuffer(data, "<u4").byteswap().tobytes()
        try:
            identity: bitfile.Identity | None = bitfile.identity_of(body)
        except InvalidRequest:
            identity = None
        if self.flags & _PARTIAL:
            self._load_partial(identity, body)
        else:
            self._load_full(identity, body)
        self.state = "operating"

    def _load_full(self, identity: bitfile.Identity | None, body: bytes) -> None:
        if not bitfile.crc_ok(body):
            # DONE does not rise: the one error of the port that the driver sees.
            self.state, self.design = "write complete error", NOBODYS
            raise OSError(errno.ETIMEDOUT, "the fabric did not come up")
        self.board.reset()
        self.design = OURS if identity is not None and identity.slot < 0 else FOREIGN

    def _load_partial(self, identity: bitfile.Identity | None, body: bytes) -> None:
        if self.design != OURS:
            return
        if identity is None or identity.slot < 0:
            self.design = NOBODYS
            return
        fault = self.faults.pop(identity.slot, None)
        if not bitfile.crc_ok(body):
            fault = faults.DEAD_IMAGE
        try:
            module, program = find_program(identity, self.board.profile, lambda _: None)
        except LoadRefused as error:
            raise OSError(errno.EINVAL, str(error)) from error
        shown = (int(identity.build, 16), module.kind.identity)
        self.board.start_config(identity.slot, program, len(body), fault, shown)
        until_s = self.board.now_s + _PORT_BOUND_S
        while self.board.config_busy and self.board.now_s < until_s:
            self.board.step_until(until_s, StopReason.CONFIG)

    # What happens to it

    def load_foreign(self, name: str) -> None:
        """Somebody else loads a design of theirs, as `xmutil loadapp` does."""
        self.log.append(f"fpga_manager fpga0: writing {name} to Xilinx ZynqMP FPGA Manager")
        self.design, self.state = FOREIGN, "operating"

    def cut_power(self) -> None:
        """Everything the fabric held is gone."""
        self.board.reset()
        self.design, self.state, self.flags = NOBODYS, "unknown", 0
        self.log.clear()
