# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long the worst logs a kernel can forge keep the server: turns of a plain Python loop, and milliseconds.

Each log fills what the largest cluster has, 2,048 lanes of 2 KiB, with records that cost most: formats of many
conversions, of widths and precisions, of nothing, of strings. The goal is 100 ms where goals were set, in turns of the
loop that `tools/yardstick.py` measures in the same run.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from eddy.gpu.launches.packing import LOG_BYTES
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.log import Logs, read_log
from yardstick import PYTHON, REFERENCE, best_rate, python_turns_per_s

LANES = 2048

FORGED: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "letters": (b"x\n\0", ()),
    "conversions": (b"%d" * 2000 + b"\0", ()),
    "nothing": (b"%.0s" * 1000 + b"\0", (0,)),
    "width": (b"%999999999d\0", (5,)),
    "precision": (b"%.999g\0", (1,)),
    "precisions": (b"%.999g" * 600 + b"\0", (0x7FFFFF,) * 400),
    "strings": (b"%s" * 600 + b"\0" + b"\xff" * 4096, (REGION_BASE + 1210,) * 400),
}


def milliseconds(image: bytes, arguments: tuple[int, ...]) -> float:
    """Processor time of the text of one forged log, the best of five."""
    record = [4 * (5 + len(arguments)), REGION_BASE, 0, 0, 0, *arguments]
    lane = record * ((LOG_BYTES - 8) // (4 * len(record)))
    words = np.zeros((LANES, LOG_BYTES // 4), "<u4")
    words[:, 0], words[:, 2 : 2 + len(lane)] = 4 * len(lane), lane
    raw = words.tobytes()
    logs = Logs(REGION_BASE + len(image), LOG_BYTES, LANES)
    return 1e3 / best_rate(lambda: read_log(lambda at, size: raw, image, 1 << 24, logs), 1)


MOST = {"turns of the Python loop": 0.1 * REFERENCE[PYTHON]}
"""Those of the 100 ms a log may take."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Of every forged log."""
    took_ms = {name: milliseconds(*forged) for name, forged in FORGED.items()}
    per_ms = 1e-3 * python_turns_per_s()
    return {name: {"ms": ms, "turns of the Python loop": ms * per_ms} for name, ms in took_ms.items()}
