# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The tutorial of HLS kernels, walked: an export becomes an application by its command, and tenants' jobs are right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.packages.manifests import load_module_manifest
from eddy_sim.tools.products import ROOT
from system.jobs.import_kit import ImportedJobs, import_into

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

PAGE = (ROOT / "docs" / "tutorials" / "your-hls-kernel.md").read_text(encoding="utf-8")
NAME = "total"


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree that the tutorial's command writes, which prints what the tutorial shows; the check is on record."""
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^eddy (module import .*)$", PAGE, re.MULTILINE)
    said = import_into(tmp_path, NAME, shlex.split(command)[2:])
    shown = re.findall(r"^  \w+: .* bits at .*$", PAGE, re.MULTILINE)
    assert len(shown) == 6
    assert [line for line in shown if line not in said.splitlines()] == []
    assert "note:" not in said
    assert load_module_manifest(tmp_path / "bitstreams" / NAME).memory_bits == 128
    return tmp_path


def test_an_imported_kernel_runs_tenants_jobs(imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports of 32 and 128 bits, at slots' ports of 128; results of 64 bits and of 16; a scalar tenants may set."""
    jobs = ImportedJobs(imported, NAME, monkeypatch, "tiny_wide")
    try:
        rng = np.random.default_rng(5)
        items = [rng.integers(0, 1 << 32, 256, dtype="u4"), np.arange(256, dtype="u4")]
        for given in ({}, {"step": 5}, {"step": 200, "n": 24}):
            record = jobs.run({"x": items}, **given)
            assert record.state is JobState.SUCCEEDED, record.detail
            n = given.get("n", 256)
            sums = [item[:n] + np.uint32(given.get("step", 16)) for item in items]
            got = jobs.output(record, "y").reshape(2, 256)
            assert all((row[:n] == wanted).all() for row, wanted in zip(got, sums, strict=True))
            assert not got[:, n:].any()
            assert jobs.output(record, "ap_return").tolist() == [int(each.astype("u8").sum()) for each in sums]
            assert jobs.output(record, "peak").tolist() == [int((item[:n] & 0xFFFF).max()) for item in items]
    finally:
        jobs.board.release()


def test_a_buffer_that_is_updated_where_it_lies_is_given_and_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each item's own, whatever the one before it left; a job without it is refused."""
    monkeypatch.chdir(ROOT)
    said = import_into(tmp_path, "hls_update", [str(ROOT / "tests" / "kernels" / "hls_update"), "--type", "data=<u4"])
    assert "data: buffer of 64 bytes (<u4), rw; 64 bits at 0x10" in said
    jobs = ImportedJobs(tmp_path, "hls_update", monkeypatch)
    try:
        rng = np.random.default_rng(5)
        items = [rng.integers(0, 1 << 32, 16, dtype="u4") for _ in range(3)]
        for _ in range(2):
            record = jobs.run({"data": items}, step=7, n=12)
            assert record.state is JobState.SUCCEEDED, record.detail
            wanted = [np.concatenate([item[:12] + np.uint32(7), item[12:]]) for item in items]
            assert jobs.output(record, "data").tobytes() == b"".join(each.tobytes() for each in wanted)
        with pytest.raises(InvalidRequest, match="the input 'data' is missing"):
            jobs.run({})
    finally:
        jobs.board.release()
