# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Outputs of jobs that end while they are on their way to the disk: nothing of them stays there."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from eddy.core.jobs import JobState
from eddy.hypervisor.engine.output_writer import OutputWriter
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.messages import Collected
from eddy.store import Store
from eddy.store.db.rows import ItemOutput
from hypervisor_kit import BYTES, TENANT, model_board, request
from system.jobs.test_retries_on_a_slow_disk import SlowDisk


def on_disk(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in (folder / "outputs").glob("*")}


def on_its_way(job: Job) -> bool:
    """Whether an item is done, and its outputs are not named yet."""
    return job.items.finished > job.items.committed


def has_stored(items: int, job: Job) -> bool:
    return job.items.committed >= items


@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("stored", [0, 1, 2])
def test_what_a_cancelled_job_has_on_its_way_goes(stored: int, written: bool, tmp_path: Path) -> None:
    """It is cancelled before or after the disk has the outputs of the next item; `stored` or more are named by then."""
    store = Store(tmp_path / "eddy.sqlite3")
    life = SlowDisk(store, model_board())
    job = life.engine.intake.accept(request(store, batch=4))
    for count in range(stored):
        life.until(on_its_way, job.id)
        life.write()
        life.until(partial(has_stored, count + 1), job.id)
    life.until(on_its_way, job.id)
    if written:
        life.write()
    life.engine.intake.cancel(TENANT, job.id)
    life.run()
    record = store.jobs.get(TENANT, job.id)
    assert record.state is JobState.CANCELLED
    assert record.items_done >= stored
    assert on_disk(tmp_path) == ({f"{job.id}.out": record.items_done * BYTES} if record.items_done else {})
    assert store.retention.counted_bytes() == sum(on_disk(tmp_path).values())
    store.close()


def test_what_the_machine_took_no_note_of_goes_when_the_job_ends(tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    kept = OutputWriter(store)
    kept.submit([ItemOutput(7, "out", 0, b"abc")], Collected(7, 0, 0.0))
    assert len(kept.take_finished()) == 1
    assert on_disk(tmp_path) == {"7.out": 3}
    kept.forget(7, {"out", "never written"})
    assert on_disk(tmp_path) == {}
    assert not kept.has_work
    store.close()


def test_a_name_under_which_something_else_is_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    (tmp_path / "outputs" / "7.out").mkdir(parents=True)
    store.outputs.trim(7, ["out"])
    assert (tmp_path / "outputs" / "7.out").is_dir()
    assert "7.out has more than rows name" in caplog.text
    store.close()
