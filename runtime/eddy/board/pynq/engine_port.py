# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Loads through the shell's own configuration engine: an image in memory, a start, a wait, and what came of it.

The engine reads the image from memory that no slot is ever granted, within a window of its pages alone. What it found
wrong is in the error; the slot is then closed by whoever asked for the load, and stays so.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from eddy.board.pynq.fpga_manager import to_binary
from eddy.core.errors import ConfigurationFailed, ImageRefused
from eddy.core.units import format_bytes

PATIENCE = 4.0
"""How many times as long as it should a load may take before it is aborted; memory may be busy."""
MIN_PATIENCE_S = 0.1
_CAUSES = "docs/reference/registers/icap_engine.md"


class ConfigurationEngine(Protocol):
    """The engine, as its driver (`eddy_drivers.icap_engine`) offers it."""

    def begin(self, address: int, length: int, crc: int) -> None:
        """Begin a load."""

    def abort(self) -> None:
        """End the load under way."""

    def close_window(self) -> None:
        """Let it read nothing any more."""

    def ended(self) -> bool:
        """Whether the load has ended."""

    def status(self) -> Any:
        """`cause` (an enum, 0: none), `left` and `said`."""


class ConditionWaiter(Protocol):
    """Waits until a condition holds, for so many seconds at most."""

    def __call__(self, ended: Callable[[], bool], bound_s: float) -> None:
        """Back when it holds, or the seconds have passed."""


class EnginePort:
    """The engine as a configuration port.

    Args:
        engine: Its driver.
        memory: A buffer that the device sees, with `device_address`, for one image.
        flush: Writes the CPU's lines of a range of that buffer back to memory.
        turn: Gives the device's configuration logic to the engine for a load, and says how to wait for it.
        bytes_per_s: Rate at which images should come in.
    """

    def __init__(
        self,
        engine: ConfigurationEngine,
        memory: Any,
        flush: Callable[[int, int], None],
        turn: Callable[[], AbstractContextManager[ConditionWaiter]],
        bytes_per_s: float,
    ) -> None:
        self._engine, self._memory, self._flush, self._turn = engine, memory, flush, turn
        self._bytes_per_s = bytes_per_s

    def load(self, region: str, file: Path) -> None:
        """Load a partial `.bit`; back when it is in.

        Raises:
            ConfigurationFailed: It is not; `engine` in its details says why.
            ImageRefused: It is no `.bit` file, or larger than any slot's image.
        """
        image = to_binary(file.read_bytes())
        if len(image) > len(self._memory):
            raise ImageRefused(
                f"the image for {region} has {format_bytes(len(image))}, the board's slots take up to"
                f" {format_bytes(len(self._memory))};"
                " build it for this board's profile",
                field="file",
            )
        self._memory[: len(image)] = np.frombuffer(image, np.uint8)
        self._flush(0, len(image))
        bound_s = max(MIN_PATIENCE_S, PATIENCE * len(image) / self._bytes_per_s)
        with self._turn() as wait:
            try:
                self._engine.begin(int(self._memory.device_address), len(image), zlib.crc32(image))
                wait(self._engine.ended, bound_s)
                self._check(region, wait, bound_s)
            finally:
                self._engine.close_window()

    def _check(self, region: str, wait: ConditionWaiter, bound_s: float) -> None:
        if not self._engine.ended():
            self._engine.abort()
            wait(self._engine.ended, MIN_PATIENCE_S)
            raise ConfigurationFailed(
                f"the configuration engine did not end the load of {region} within {bound_s:.2f} s, and was told to"
                f" abort it ({_CAUSES})",
                cause="configuration-error",
                engine="aborted",
            )
        found = self._engine.status()
        if not found.cause:
            return
        name = found.cause.name.lower()
        raise ConfigurationFailed(
            f"the configuration engine ended the load of {region}: {name}, {found.left} words left ({_CAUSES})",
            cause="configuration-error",
            engine=name,
        )
