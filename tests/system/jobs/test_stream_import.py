# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels with streams become applications by one command, and tenants' jobs are right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from eddy.core.applications import Application, BufferRole
from eddy.core.jobs import JobState
from eddy_sim.tools.products import ROOT
from system.jobs.import_kit import ImportedJobs, import_into

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]

KERNELS = ROOT / "tests" / "kernels"


def twice(imported: Application) -> Application:
    """The kernel behind itself: what the first sends as `pairs` is the `data` of the second."""
    (task,) = imported.tasks
    mine = {buffer.name: buffer for buffer in imported.buffers}
    shared = {name for name, buffer in mine.items() if buffer.role is BufferRole.CONSTANT}
    others = {name: name if name in shared else f"second_{name}" for name in mine} | {"data": "pairs"}
    again = tuple((name, others.get(str(value), value)) for name, value in task.arguments)
    between = replace(mine["pairs"], role=BufferRole.INTERMEDIATE)
    more = (replace(mine[name], name=other) for name, other in others.items() if name not in shared | {"data"})
    return replace(
        imported,
        tasks=(task, replace(task, id=1, name="again", arguments=again)),
        edges=((0, 1),),
        buffers=(*(between if name == "pairs" else buffer for name, buffer in mine.items()), *more),
    )


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

    # In two slots, the second's input coming from the first's.
    jobs = ImportedJobs(tmp_path, "stream_pair", monkeypatch, "tiny_streams", twice)
    try:
        record = jobs.run({"gain": gains, "data": words, "second_gain": gains})
        assert record.state is JobState.SUCCEEDED, record.detail
        assert jobs.output(record, "second_scaled").tobytes() == b"".join(wanted)
        assert jobs.output(record, "second_pairs").tobytes() == b"".join(word.tobytes() for word in words)
        log = jobs.store.events.list_events("ada", record.id, limit=1000)
        assert sum("writes to" in event.detail for event in log) == 2, "all but the first, during the second's load"
    finally:
        jobs.board.release()
