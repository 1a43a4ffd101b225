# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels with streams become applications by one command, and tenants' jobs are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.core.jobs import JobState
from eddy_sim.tools.products import ROOT
from system.jobs.import_kit import ImportedJobs, import_into

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

KERNELS = ROOT / "tests" / "kernels"


def test_streams_of_a_kernel_without_control_run_tenants_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beats of 1, 3, 8 and 64 bytes; one output ends with TLAST, one by its length; a job that starves says so."""
    monkeypatch.chdir(ROOT)
    options = ["--set", "gain_bytes=64", "--set", "data_bytes=512", "--stall-cycles", "2000"]
    import_into(tmp_path, "stream_pair", [str(KERNELS / "stream_pair"), *options])
    jobs = ImportedJobs(tmp_path, "stream_pair", monkeypatch)
    try:
        rng = np.random.default_rng(7)
        gains = [rng.integers(0, 256, 64, dtype="u1") for _ in range(3)]
        words = [rng.integers(0, 1 << 64, 64, dtype="u8") for _ in range(3)]
        record = jobs.run({"gain": gains, "data": words})
        assert record.state is JobState.SUCCEEDED, record.detail
        products = [gain * word for gain, word in zip(gains, words, strict=True)]
        wanted = [each.view("u1").reshape(64, 8)[:, :3].tobytes() for each in products]
        assert jobs.output(record, "scaled").tobytes() == b"".join(wanted)
        assert jobs.output(record, "pairs").tobytes() == b"".join(word.tobytes() for word in words)
        assert jobs.output(record, "scaled_length").tolist() == [192] * 3
        assert jobs.output(record, "pairs_length").tolist() == [512] * 3

        short = jobs.run({"gain": gains[:1], "data": words[:1]}, gain_bytes=40)
        assert short.state is JobState.FAILED
        assert "(untaken, unended, data, scaled, pairs)" in short.detail
        again = jobs.run({"gain": gains[:1], "data": words[:1]})
        assert jobs.output(again, "scaled").tobytes() == wanted[0]
    finally:
        jobs.board.release()
