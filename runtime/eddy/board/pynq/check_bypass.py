# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy board-test` may do past the checks of a board that is in its own process: a damaged image, another clock.

None of it is a call of the board port, so none of it crosses boardd's socket.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from eddy.board.port.port import SlotPhase
from eddy.board.pynq.fabric import Fabric
from eddy.board.pynq.slot import BoardSlot, slot_busy_error
from eddy.board.pynq.slot_loader import SlotLoader
from eddy.core.slots import Image


class CheckBypass:
    """Ways around a board's checks; a context, which keeps the damaged files.

    Args:
        fabric: Hardware of the board.
        slots: By index.
        loads: Loads them.
        regions: Names of their partitions.
        admit: Checks an image for a slot, by its sha256, and answers it with its file.
    """

    def __init__(
        self,
        fabric: Fabric,
        slots: Sequence[BoardSlot],
        loads: SlotLoader,
        regions: Sequence[str],
        admit: Callable[[int, str], tuple[Image, Path]],
    ) -> None:
        self._fabric, self._slots, self._loads, self._admit = fabric, slots, loads, admit
        self._regions = regions
        self._folder = tempfile.TemporaryDirectory(prefix="eddy-damaged-")

    def __enter__(self) -> CheckBypass:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def retime(self, slot: int, hz: float) -> float:
        """Give the module in an idle slot another clock, reset; `CONFIGURED` or `CONFIGURATION_FAILED` follows.

        Answers the frequency that the wizard makes, which is not above `hz`. The next load brings back the image's own.

        Raises:
            Conflict: The slot is not idle.
        """
        target = self._slots[slot]
        if target.phase is not SlotPhase.IDLE or target.held is None:
            raise slot_busy_error(slot, target)
        self._loads.retime(slot, dataclasses.replace(target.held, clk_hz=hz))
        return target.hardware.clock.rate_hz()

    def load_damaged(self, slot: int, image: str) -> None:
        """Load an image with one bit wrong in the middle of its payload, as `load` loads a sound one.

        Raises:
            ImageRefused: The image itself would not be loaded.
            Conflict: The slot runs an item, or another load is under way.
        """
        found, file = self._admit(slot, image)
        folder = Path(self._folder.name) / found.sha256
        shutil.copytree(file.parent, folder, dirs_exist_ok=True)
        damaged = bytearray(file.read_bytes())
        damaged[-(found.bytes // 2)] ^= 0x10
        (folder / file.name).write_bytes(damaged)
        self._loads.begin(slot, found, found, folder / file.name, self._regions[slot])

    def port_error(self) -> bool:
        """Whether the configuration port said PRERROR in the load before."""
        return self._fabric.shell.configuration_error()
