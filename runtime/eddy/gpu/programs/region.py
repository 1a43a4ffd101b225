# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The room in a launch's region, handed out from its beginning."""

from __future__ import annotations

from eddy.gpu.programs.layout import REGION_BASE, align


class RegionSpace:
    """Hands out addresses as the cores see them, each at the beginning of a line.

    Args:
        begin: Offset in the region from which on it has room.
    """

    def __init__(self, begin: int = 0) -> None:
        self._end = REGION_BASE + begin

    def allocate(self, size: int) -> int:
        """The address of so many bytes that nobody else is given."""
        at, self._end = self._end, align(self._end + size)
        return at

    @property
    def bytes(self) -> int:
        """What was handed out, from the region's beginning on."""
        return self._end - REGION_BASE
