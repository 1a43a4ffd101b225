# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Image files for tests: real `.bit` files with manifests, for modules that exist in name only."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

from eddy.board.port.profile import Profile
from eddy.core.slots import Control, Image
from eddy_sim.design import bitfile

SCRUBBED = ("alpha",)
"""Modules that a reset makes clean for another tenant."""


def make_image(
    folder: Path, profile: Profile, shell: str, module: str, slot: int, control: Control = Control.HS
) -> Image:
    """Write one image and its manifest; its module's check is on record."""
    build = hashlib.sha256(module.encode()).hexdigest()[:16]
    size = profile.slots[slot].image_bytes
    data = bitfile.make(bitfile.Identity(module, build, shell, slot, profile.part), size)
    sha256 = hashlib.sha256(data).hexdigest()
    claim = build if module in SCRUBBED else ""
    clk_hz = profile.slots[slot].clk_hz
    image = Image(sha256, module, build, shell, slot, size, clk_hz, "", claim, checked_build=build, control=control)
    path = folder / f"{module}__slot{slot}.bit"
    path.write_bytes(data)
    write_manifest(path, image)
    return image


def write_manifest(file: Path, image: Image) -> None:
    """Write the manifest beside an image file."""
    file.with_suffix(".json").write_text(json.dumps(dataclasses.asdict(image)))


def make_images(folder: Path, profile: Profile, shell: str, modules: tuple[str, ...] = ("alpha", "beta")) -> None:
    """An image of every module for every slot."""
    folder.mkdir(parents=True, exist_ok=True)
    for module in modules:
        for slot in range(len(profile.slots)):
            make_image(folder, profile, shell, module, slot)
