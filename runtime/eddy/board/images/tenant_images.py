# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images of tenants' own, for slots that they lease: checked when they come in, kept in memory, and in no list.

One a slot: the next one for it takes its place, so what is kept is bounded by the slots. None has a claim to be
scrubbed by a reset, whatever its manifest says: what was in a leased slot is never handed on.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from eddy.board.images.images import check_place, check_size
from eddy.board.images.signing import Trust
from eddy.core.errors import ImageRefused
from eddy.core.slots import Image, Pool, SlotDescription
from eddy.core.units import format_frequency
from eddy.host.files import translate_os_errors
from eddy.host.memory_folder import MemoryFolder

HANDOFF = b"""<?xml version="1.0" encoding="utf-8"?>
<EDKSYSTEM EDWVERSION="1.2" TIMESTAMP="" VIVADOVERSION="none">
<SYSTEMINFO ARCH="zynquplus"/><EXTERNALPORTS/><MODULES/></EDKSYSTEM>
"""
"""Metadata of nothing: PYNQ wants some beside a partial bitstream, and the board reads nothing of it; none of a
tenant's is ever parsed."""


class TenantImages:
    """Images that tenants sent.

    Args:
        trust: Whose signatures count, for whom.
    """

    def __init__(self, trust: Trust) -> None:
        self._trust = trust
        self._kept: dict[int, tuple[Image, Path]] = {}
        self._folder: MemoryFolder | None = None

    def take(self, image: Image, tenant: str, data: bytes, slot: SlotDescription, shell: str) -> None:
        """Check an image, and keep it for its slot; see `check_own_image`."""
        check_own_image(self._trust, image, tenant, data, slot, shell)
        file = self._place(slot.index)
        fresh = file.with_suffix(".new")
        with translate_os_errors(file.parent):
            fresh.write_bytes(data)
            file.with_suffix(".hwh").write_bytes(HANDOFF)
            fresh.replace(file)  # whoever reads the one before has it whole
        self._kept[slot.index] = dataclasses.replace(image, scrub_build=""), file

    def find(self, sha256: str, slot: int) -> tuple[Image, Path] | None:
        """The image that is kept for a slot, where it is that one."""
        kept = self._kept.get(slot)
        return kept if kept is not None and kept[0].sha256 == sha256 else None

    def file_of(self, sha256: str) -> Path | None:
        """Where an image that is kept lies."""
        return next((file for image, file in self._kept.values() if image.sha256 == sha256), None)

    def close(self) -> None:
        """Forget all of them."""
        self._kept.clear()
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _place(self, slot: int) -> Path:
        if self._folder is None:
            self._folder = MemoryFolder("eddy-own-images")
        return self._folder.path / f"slot{slot}.bit"


def check_own_image(trust: Trust, image: Image, tenant: str, data: bytes, slot: SlotDescription, shell: str) -> None:
    """Refuse an image of a tenant's own that may not go into a slot.

    Args:
        trust: Whose signatures count, for whom.
        image: Its manifest.
        tenant: Whose it is.
        data: Its `.bit` file.
        slot: Where it is to go.
        shell: Identity of the shell, as read from the hardware.

    Raises:
        ImageRefused: Says which check failed and what to do.
    """
    if slot.pool is not Pool.PIPELINE:
        message = f"slot {slot.index} has a GPU cluster: images of tenants' own go into slots for accelerators"
        raise ImageRefused(message, reason="other-slot", asked=slot.index)
    check_place(image, slot, shell)
    if not 0 < image.clk_hz <= slot.clk_hz:
        most = format_frequency(slot.clk_hz)
        message = (
            f"image {image.sha256[:12]} asks for {format_frequency(image.clk_hz)}; slot {slot.index} has up to {most}"
        )
        raise ImageRefused(message, reason="wrong-clock", achievable=slot.clk_hz)
    trust.check_own(image, tenant)
    if hashlib.sha256(data).hexdigest() != image.sha256:
        message = "the file's hash is not the one of its manifest; send the file that was signed"
        raise ImageRefused(message, reason="damaged")
    check_size(image, slot, data)
