# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Something else stands where a file should be: the job whose it is fails and says so; everybody else goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eddy.core.errors import StorageFailed
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind, JobRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.application_jobs import ApplicationWork
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, item, model_board, put, request


def _folder(path: Path) -> None:
    path.mkdir()


def _full_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.pdf").write_bytes(b"mine")


def _link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _broken_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "eddy.sqlite3")
    yield made
    made.close()


@pytest.fixture
def engine(store: Store) -> Engine:
    made = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    made.start()
    return made


def finish(engine: Engine, until: Callable[[], bool] = lambda: False) -> None:
    for _ in range(1000):
        if engine.is_idle or until():
            return
        engine.step()
    raise AssertionError("it does not come to an end")


def ended(store: Store, job: JobRecord) -> JobRecord:
    return store.jobs.get(TENANT, job.id)


def spoil(path: Path, kind: Callable[[Path], None]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    kind(path)


@pytest.mark.parametrize("kind", [_folder, _full_folder])
def test_a_folder_where_an_output_comes_fails_that_job_alone(
    engine: Engine,
    store: Store,
    tmp_path: Path,
    kind: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "outputs" / "1.out"
    spoil(path, kind)
    before = sorted(path.iterdir())
    jobs = [engine.intake.accept(request(store, batch=3, salt=salt)) for salt in range(3)]
    finish(engine)
    first, *others = [ended(store, job) for job in jobs]
    assert (first.state, first.cause) == (JobState.FAILED, "file-damaged")
    said = f"output out of job {store.numbers.job.public_id(1)} cannot be written (Is a directory): tell the operator"
    assert said in first.detail
    assert str(tmp_path) not in first.detail
    assert any(str(path) in line for line in caplog.messages), "the operator is told where"
    assert [job.state for job in others] == [JobState.SUCCEEDED] * 2
    assert store.outputs.read(TENANT, others[1].id, "out") == expected(batch=3, salt=2)
    assert sorted(path.iterdir()) == before
    assert store.problem is None, "nothing is wrong with the disk"
    assert not list((tmp_path / "outputs").glob("*.draft"))


@pytest.mark.parametrize("kind", [_link, _broken_link, _pipe, lambda path: None])
def test_another_kind_where_an_output_is_to_be_continued_fails_that_job_alone(
    engine: Engine, store: Store, tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    """A link that stands there before the first item is replaced; from then on the file is not what was written."""
    jobs = [engine.intake.accept(request(store, batch=4, salt=salt)) for salt in range(2)]
    finish(
        engine, lambda: any(event.what is JobEventKind.RESULT for event in store.events.list_events(TENANT, jobs[0].id))
    )
    spoil(tmp_path / "outputs" / "1.out", kind)
    finish(engine)
    first, second = (ended(store, job) for job in jobs)
    assert (first.state, first.cause) == (JobState.FAILED, "file-damaged")
    assert f"output out of job {store.numbers.job.public_id(1)}" in first.detail
    assert first.items_done >= 1
    assert second.state is JobState.SUCCEEDED
    assert not (tmp_path / "outputs" / "nowhere").exists()


def test_a_folder_where_a_log_comes_costs_the_log_alone(
    engine: Engine, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ApplicationWork, "log", lambda work, memory: b"printed")
    spoil(tmp_path / "outputs" / "1.%2Flog", _folder)
    jobs = [engine.intake.accept(request(store)), engine.intake.accept(request(store, salt=1))]
    finish(engine)
    assert [ended(store, job).state for job in jobs] == [JobState.SUCCEEDED] * 2
    assert [store.outputs.log(TENANT, job.id) for job in jobs] == ["", "printed"]


def test_a_folder_where_an_input_was_fails_its_jobs_alone_and_is_left_as_it_is(
    engine: Engine, store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = request(store, batch=1)
    (digest,) = asked.inputs["in"]
    job = engine.intake.accept(asked)
    path = tmp_path / "blobs" / f"t-{TENANT}" / digest
    spoil(path, _folder)
    other = engine.intake.accept(request(store, salt=1))
    finish(engine)
    assert (ended(store, job).state, ended(store, job).cause) == (JobState.FAILED, "file-damaged")
    assert str(tmp_path) not in ended(store, job).detail
    assert any(str(path) in line for line in caplog.messages), "the operator is told where"
    assert ended(store, other).state is JobState.SUCCEEDED
    with pytest.raises(StorageFailed, match=rf"{digest} is not of the kind it should be .* move it away"):
        put(store, TENANT, item(0))
    assert store.problem is None
    store.blobs.drop(TENANT, digest)
    assert store.blobs.size_bytes(TENANT, digest) is None
    assert path.is_dir()


def test_no_folder_for_outputs_is_the_stores_trouble_and_passes(engine: Engine, store: Store, tmp_path: Path) -> None:
    """It concerns everybody: no job fails, and once it is mended all go on."""
    outputs = tmp_path / "outputs"
    job = engine.intake.accept(request(store))
    outputs.write_bytes(b"a file")
    with pytest.raises(StorageFailed, match="Not a directory"):
        finish(engine)
    assert ended(store, job).state is not JobState.FAILED
    outputs.unlink()
    engine.start()
    finish(engine)
    assert ended(store, job).state is JobState.SUCCEEDED
    assert store.outputs.read(TENANT, job.id, "out") == expected()
