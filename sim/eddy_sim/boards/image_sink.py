# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a simulated board asks of whoever knows images, when one arrives at its engine's port."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from eddy_sim.boards.faults import LoadFault

_NO_FAULT = LoadFault()


@dataclass(frozen=True, slots=True)
class ArrivingImage:
    """An image that has begun to arrive at the engine's port.

    Attributes:
        slot: Whose it is.
        fault: What goes wrong with this load.
    """

    slot: int
    fault: LoadFault = _NO_FAULT


@dataclass(frozen=True, slots=True)
class ArrivedImage:
    """What an image brings that is in: a module; none where it is damaged.

    Attributes:
        module: Its shared object.
        identity: Build hash and kind of the image.
        fault: What goes wrong with it.
    """

    module: Path | None
    identity: tuple[int, int] = (0, 1)
    fault: LoadFault = _NO_FAULT


class ImageSink(Protocol):
    """Whoever knows images: asked what is at the engine's port, while the board is stepped."""

    def image_begins(self, body: bytes) -> ArrivingImage | None:
        """What an image is, of which the identity record is in; None: none of this board's."""

    def image_ends(self, body: bytes) -> ArrivedImage:
        """What it brings, all of it being in."""
