# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a kernel instantiates of the vendor's and brings no source of: what has models here, and what only watches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from eddy_sim.tools.filelist import HARDWARE

MODELS = HARDWARE / "ip" / "vendor_parts" / "rtl"
"""Models of the vendor's parts, a file each under the part's name."""
_WATCHES = re.compile(r"(system_)?ila(_\w+)?|dbg_hub|vio_probe\w*", re.IGNORECASE)


def is_watcher(name: str) -> bool:
    """Whether a part only watches what it is connected to: an integrated logic analyser."""
    return _WATCHES.fullmatch(name) is not None


def models_for(names: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The models of parts, and those parts that there is none for."""
    found = {name: MODELS / f"{name}.sv" for name in names}
    return (
        tuple(path for path in found.values() if path.is_file()),
        tuple(name for name, path in found.items() if not path.is_file()),
    )
