# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images of one's own as they lie on disk: a `.bit` file, and its signed manifest beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest
from eddy.core.slots import Image

_FIELDS = [field.name for field in dataclasses.fields(Image)]


def choose_image(files: Sequence[Path], slots: Collection[int]) -> tuple[dict[str, Any], Path]:
    """The manifest and the file that is for one of these slots.

    Args:
        files: `.bit` files; a manifest of the same name, `.json`, lies beside each.
        slots: That the lease holds.

    Raises:
        InvalidRequest: None is, or a manifest cannot be read.
    """
    from eddy.board.images.image_files import read_manifest

    there = []
    for file in files:
        manifest = read_manifest(file.with_suffix(".json"))
        if manifest.get("slot") in slots:
            return {name: manifest[name] for name in _FIELDS if name in manifest}, file
        there.append(str(manifest.get("slot")))
    mine, built = ", ".join(map(str, slots)) or "none", ", ".join(there) or "none"
    message = f"The lease holds slot {mine}; the files were built for slot {built}: give those of every slot."
    raise InvalidRequest(message, field="files", allowed=sorted(slots))


def read_image(file: Path) -> bytes:
    """The bytes of a `.bit` file.

    Raises:
        InvalidRequest: It cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}", field="files") from None
