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
    import json

    there = []
    for file in files:
        path = file.with_suffix(".json")
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidRequest(f"Manifest {path} cannot be read: {error}", field="files") from None
        if not isinstance(manifest, dict):
            raise InvalidRequest(f"Manifest {path} is not a JSON object.", field="files")
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
