# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the programs share."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent


def source(name: str) -> str:
    """The path of a program's source, as `Workload.source` takes it."""
    return str(HERE / name)
