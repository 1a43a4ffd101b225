# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tests of kernels share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.gpu_harness import GpuHarness, opened


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    """A board with GPU clusters in RTL."""
    with opened("rtl", tmp_path, monkeypatch) as harness:
        yield harness
