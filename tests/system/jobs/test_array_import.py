# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels whose arrays lie in registers, or behind ports to memory blocks, run tenants' jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.core.jobs import JobState
from eddy_sim.tools.products import ROOT
from system.jobs.import_kit import ImportedJobs, import_into

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


KERNELS = ROOT / "tests" / "kernels"


def test_arrays_in_registers_are_inputs_and_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is read, one is written, and one is both, further apart than a window is long; a memory of the vendor's lies
    between."""
    monkeypatch.chdir(ROOT)
    said = import_into(tmp_path, "hls_filter", [str(KERNELS / "hls_filter"), "--type", "taps=<i2"])
    assert "taps: input, an array of 16-bit elements; 128 bits at 0x100" in said
    assert "sums: result, an array of 32-bit elements; 256 bits at 0x200" in said
    assert "state: input, an array of 16-bit elements; 128 bits at 0x20" in said
    assert "state_out: result, an array of 16-bit elements; 128 bits at 0x20" in said
    jobs = ImportedJobs(tmp_path, "hls_filter", monkeypatch)
    try:
        items = [np.arange(8, dtype="<u2") * 1001, np.full(8, 65535, "<u2")]
        before = [np.arange(8, dtype="<u2") + 60_000, np.zeros(8, "<u2")]
        record = jobs.run({"taps": items, "state": before})
        assert record.state is JobState.SUCCEEDED, record.detail
        wanted = [3 * int(value) + i for item in items for i, value in enumerate(item)]
        assert jobs.output(record, "sums").tolist() == wanted
        after = [(int(old) + new) % 65536 for old, new in zip(np.concatenate(before), wanted, strict=True)]
        assert jobs.output(record, "state_out").tolist() == after
    finally:
        jobs.board.release()


def test_arrays_behind_ports_to_memory_blocks_are_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ap_memory` of two sides, of a length that the export tells; `bram` with byte enables, of one that is said."""
    monkeypatch.chdir(ROOT)
    said = import_into(tmp_path, "hls_blocks", [str(KERNELS / "hls_blocks"), "--elements", "b=8"])
    for line in ("a: input, an array of 16-bit", "b: input, an array of 32-bit", "b_out: result", "c: result"):
        assert line in said
    jobs = ImportedJobs(tmp_path, "hls_blocks", monkeypatch)
    try:
        rng = np.random.default_rng(9)
        a = [rng.integers(0, 1 << 12, 19, dtype="<u2") for _ in range(3)]
        b = [rng.integers(0, 1 << 32, 8, dtype="<u4") for _ in range(3)]
        record = jobs.run({"a": a, "b": b})
        assert record.state is JobState.SUCCEEDED, record.detail
        assert jobs.output(record, "c").tobytes() == b"".join((x + x[::-1]).astype("u1").tobytes() for x in a)
        lower = [(y & 0xFFFF0000) | ((y + x[:8]) & 0xFFFF) for x, y in zip(a, b, strict=True)]
        assert jobs.output(record, "b_out").tobytes() == b"".join(each.astype("<u4").tobytes() for each in lower)
    finally:
        jobs.board.release()
