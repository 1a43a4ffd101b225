"""Blocks of the static region, found by their types in the overlay's metadata and ordered by address.

That is the order of the slots in the shell's address map.
"""

from __future__ import annotations

import re
from typing import Any

from eddy_drivers.hls_accelerator import HlsAccelerator

from eddy.core.errors import BoardFault


def _driver(overlay: Any, name: str) -> Any:
    target = overlay
    for part in name.split("/"):
        target = getattr(target, part)
    return target


def blocks_of_type(overlay: Any, kind: type) -> list[Any]:
    """Every block of a type, by address."""
    types = {re.sub(r":[^:]*$", "", vlnv) for vlnv in kind.bindto}  # type: ignore[attr-defined]
    names = [
        (int(details["phys_addr"]), name)
        for name, details in overlay.ip_dict.items()
        if re.sub(r":[^:]*$", "", str(details.get("type"))) in types
    ]
    return [_driver(overlay, name) for _, name in sorted(names)]


def single_block(overlay: Any, kind: type) -> Any:
    """The one block of a type.

    Raises:
        BoardFault: There is none, or more than one.
    """
    found = blocks_of_type(overlay, kind)
    if len(found) != 1:
        raise BoardFault(
            f"the overlay has {len(found)} blocks of type {kind.bindto[0]}, expected one;"  # type: ignore[attr-defined]
            " load an overlay that `eddy bitstreams` lists",
            cause="metadata",
        )
    return found[0]


def window_at(overlay: Any, address: int) -> tuple[HlsAccelerator, dict[str, Any]]:
    """The register window at an address, whatever its metadata calls what is in it, and what drivers of it are told."""
    for name, details in overlay.ip_dict.items():
        if details.get("phys_addr") == address:
            description = {**details, "fullpath": name, "device": overlay.device, "interrupts": {}, "gpio": {}}
            return HlsAccelerator(description), description
    raise BoardFault(f"the overlay's metadata has no register window at {address:#x}", cause="metadata")
