# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Image files as they lie on disk: a `.bit`, and a `.json` manifest of the same name beside it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from eddy.core.errors import ImageRefused, InvalidRequest
from eddy.core.slots import Control, Image

_BOOT_MARK_AT, _BOOT_MARK = 0x24, b"XNLX"
"""What marks a boot image, and where (Ref: UG1283, "Zynq UltraScale+ MPSoC Boot Header", Image Identification)."""
_TYPES = {"str": str, "int": int, "float": (int, float), "Control": str}


def read_manifest(path: Path) -> dict[str, Any]:
    """Parse a manifest file.

    Raises:
        InvalidRequest: It cannot be read or is no JSON object.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"manifest {path} cannot be read: {error}", field="manifest") from error
    if not isinstance(data, dict):
        raise InvalidRequest(f"manifest {path} is not a JSON object", field="manifest")
    return data


def image_of(data: dict[str, Any], path: Path) -> Image:
    """The `Image` a manifest describes; fields it has beyond those are ignored.

    Raises:
        InvalidRequest: A field is missing or of the wrong type; names it.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Image):
        if field.name not in data and field.default is not dataclasses.MISSING:
            continue
        value = data.get(field.name)
        expected = _TYPES[str(field.type)]
        if not isinstance(value, expected) or isinstance(value, bool):  # type: ignore[arg-type]
            raise InvalidRequest(
                f"manifest {path}: field {field.name} is {value!r}, not of type {field.type}", field=field.name
            )
        values[field.name] = float(str(value)) if field.type == "float" else value
    if "control" in values:
        values["control"] = _control(values["control"], path)
    return Image(**values)


def _control(value: str, path: Path) -> Control:
    try:
        return Control(value)
    except ValueError:
        allowed = [control.value for control in Control]
        message = f"manifest {path}: control is {value!r}, not one of {', '.join(allowed)}"
        raise InvalidRequest(message, field="control", allowed=allowed) from None


def refuse_boot_image(data: bytes, name: str) -> None:
    """Refuse a bitstream that the firmware would authenticate or decrypt, whatever its file is called.

    Args:
        data: The file, or how it begins.
        name: Of the file.

    Raises:
        ImageRefused: It is a boot image; says why Eddy takes none, with reason ``secure``.
    """
    if data[_BOOT_MARK_AT:].startswith(_BOOT_MARK):
        raise ImageRefused(
            f"{name} is a boot image, as authenticated and encrypted bitstreams are: Eddy loads plain partial"
            " bitstreams and checks its own signatures, for a secure load that fails clears the whole fabric, other"
            " tenants' slots included; give the bitstream itself (.bit, or bootgen -process_bitstream bin) and sign its"
            " manifest",
            reason="secure",
        )


def payload_bytes(file: bytes) -> int:
    """Length of the configuration data in a `.bit` file, from its header; the file must hold just that much.

    The header is a 13-byte preamble, then fields of a one-letter key, a 16-bit length and text (`a` design, `b` part,
    `c` date, `d` time), then `e` with a 32-bit length and the data (the layout `pynq` parses, too).

    Raises:
        ImageRefused: The header is damaged, or the file is shorter or longer than it says.
    """
    at = 13
    while at + 3 <= len(file):
        key = file[at : at + 1]
        if key == b"e":
            length = int.from_bytes(file[at + 1 : at + 5], "big")
            if at + 5 + length != len(file):
                break
            return length
        if key not in b"abcd":
            break
        at += 3 + int.from_bytes(file[at + 1 : at + 3], "big")
    raise ImageRefused("the file's .bit header is damaged or does not match its length", reason="damaged")
