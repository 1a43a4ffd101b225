# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What differs between devices below the overlay: how a slot is loaded, and how ranges leave the CPU's cache.

On the simulated board these are stock PYNQ calls; a real board is asked past PYNQ (`KernelCalls` says why).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pynq

from eddy.board.pynq.engine_port import ConditionWaiter
from eddy.board.pynq.fabric_record import FabricRecord
from eddy.board.pynq.fpga_manager import FpgaManager

PCAP_CTRL = 0xFFCA3008
"""Register of the processing system (CSU, UG1087) that says which port has the device's configuration logic."""
_PCAP_PR = 1
"""Its bit: the processor's port, not the fabric's."""
_POLL_S = 1e-4


class DeviceCalls(Protocol):
    """What differs between devices below the overlay: how a slot is loaded, and how ranges leave the CPU's cache."""

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot; back when the port is done with it.

        Raises:
            OSError, ConfigurationFailed: Refused.
        """

    def engine_turn(self, overlay: Any) -> AbstractContextManager[ConditionWaiter]:
        """Give the device's configuration logic to the shell's engine; what it yields waits for the engine."""

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write the CPU's lines of a range of a buffer back to memory."""

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop the CPU's lines of a range of a buffer."""

    def close(self) -> None:
        """Give back what it holds of the device."""


class StockCalls:
    """By PYNQ's own calls, on a device that heeds their ranges."""

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot."""
        overlay.pr_download(region, str(file))

    @contextmanager
    def engine_turn(self, overlay: Any) -> Iterator[ConditionWaiter]:
        """The simulated engine has its port, and whoever waits for it lets time pass until it has ended."""

        def wait(ended: Callable[[], bool], bound_s: float) -> None:
            del ended, bound_s
            overlay.device.await_load()

        yield wait

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write a range back."""
        buffer[start:end].flush()

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop a range."""
        buffer[start:end].invalidate()

    def close(self) -> None:
        """It holds nothing."""


class KernelCalls:
    """Past PYNQ's device for Zynq UltraScale+, which syncs whole buffers and runs `xclbinutil` for every partial load.

    Args:
        manager: The configuration port.
        record: Told of each load before it begins and when it has ended.
        claim: What keeps others from the port (`FpgaManager.claim`).
    """

    def __init__(self, manager: FpgaManager, record: FabricRecord, claim: ExitStack) -> None:
        self._manager, self._record, self._claim = manager, record, claim

    def close(self) -> None:
        """Let others have the port."""
        self._claim.close()

    def load_partial(self, overlay: Any, region: str, file: Path) -> None:
        """Load a slot; the file says where it goes."""
        del overlay, region
        with self._recorded():
            self._manager.load_partial(file)

    @contextmanager
    def engine_turn(self, overlay: Any) -> Iterator[ConditionWaiter]:
        """The processor's port lets go of the device for the engine's load, and has it again afterwards (UG1087)."""
        control = pynq.MMIO(PCAP_CTRL, 4, device=overlay.device)
        with self._recorded():
            before = int(control.read(0))
            control.write(0, before & ~_PCAP_PR)
            try:
                yield _poll
            finally:
                control.write(0, before | _PCAP_PR)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        self._record.partial("begun")
        try:
            yield
        except BaseException:
            self._record.partial("failed")
            raise
        self._record.partial("done")

    def flush(self, buffer: Any, start: int, end: int) -> None:
        """Write a range back."""
        import pyxrt

        buffer.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, end - start, start)

    def invalidate(self, buffer: Any, start: int, end: int) -> None:
        """Drop a range."""
        import pyxrt

        buffer.bo.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE, end - start, start)


def _poll(ended: Callable[[], bool], bound_s: float) -> None:
    until_s = time.monotonic() + bound_s
    while not ended() and time.monotonic() < until_s:
        time.sleep(_POLL_S)
