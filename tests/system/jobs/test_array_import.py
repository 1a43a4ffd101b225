# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel whose arrays lie in its registers, and that has a memory of the vendor's, runs tenants' jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.core.jobs import JobState
from eddy_sim.tools.products import ROOT
from system.jobs.import_kit import ImportedJobs, import_into

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


def test_arrays_in_registers_are_inputs_and_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = import_into(tmp_path, "hls_filter", [str(ROOT / "tests/kernels/hls_filter"), "--type", "taps=<i2"])
    assert "taps: input, an array of 16-bit elements; 128 bits at 0x40" in said
    assert "sums: result, an array of 32-bit elements; 256 bits at 0x60" in said
    jobs = ImportedJobs(tmp_path, "hls_filter", monkeypatch)
    try:
        items = [np.arange(8, dtype="<u2") * 1001, np.full(8, 65535, "<u2")]
        record = jobs.run({"taps": items})
        assert record.state is JobState.SUCCEEDED, record.detail
        wanted = [3 * int(value) + i for item in items for i, value in enumerate(item)]
        assert jobs.output(record, "sums").tolist() == wanted
    finally:
        jobs.board.release()
