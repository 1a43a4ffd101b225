"""Modules whose build has no check on record: no job is given one, unless the operator lets it, and then it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.slots import Control, Image
from eddy.hypervisor.engine import Engine
from eddy.hypervisor.translate import unchecked_modules
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.rows import dump_record, load_record
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request
from system.live_rig import run_out

SAID = "no check of module mix is on record as its sources and manifest are; `eddy module check mix`"


def engine(store: Store, *, unchecked: tuple[str, ...] = ("mix",), allow: bool = False) -> Engine:
    made = Engine(
        model_board(unchecked=unchecked),
        POLICIES["fcfs"](),
        store,
        {CHAIN.name: CHAIN},
        MODULES,
        allow_unchecked=allow,
    )
    made.start()
    return made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite")


def test_a_job_on_a_module_without_a_check_is_refused(store: Store) -> None:
    made = engine(store)
    with pytest.raises(InvalidRequest, match=f"chain cannot run on this board: {SAID}") as refused:
        made.intake.accept(request(store))
    assert "--unchecked-modules allow" in str(refused.value)
    assert not store.jobs.unfinished()
    assert made.machine.state.pools[next(iter(made.machine.state.pools))].fits.keys() == {"rotate", "flip"}


def test_one_that_the_operator_allows_runs_and_says_on_what(store: Store) -> None:
    made = engine(store, unchecked=("mix", "flip"), allow=True)
    job = made.intake.accept(request(store))
    assert job.unchecked == (), "it was given nothing yet"
    run_out(made)
    record = store.jobs.get(TENANT, job.id)
    assert record.state is JobState.SUCCEEDED
    assert record.unchecked == ("flip", "mix")
    assert store.outputs.read(TENANT, job.id, "out") == expected()
    assert load_record(dump_record(record)) == record


def test_a_job_on_checked_modules_says_nothing(store: Store) -> None:
    made = engine(store, unchecked=("another",), allow=True)
    job = made.intake.accept(request(store))
    run_out(made)
    record = store.jobs.get(TENANT, job.id)
    assert record.unchecked == ()
    assert "unchecked" not in dump_record(record), "a record of an older release, to the letter"


def test_a_job_that_waited_over_a_restart_runs_on_no_module_that_is_refused_now(store: Store) -> None:
    """What it had been given before stays on its record."""
    before = engine(store, allow=True)
    begun = before.intake.accept(request(store, batch=4))
    while not store.jobs.get(TENANT, begun.id).unchecked:
        before.step()
    waiting = before.intake.accept(request(store))
    engine(store)
    for job, had in ((begun, ("mix",)), (waiting, ())):
        record = store.jobs.get(TENANT, job.id)
        assert (record.state, record.cause, record.unchecked) == (JobState.FAILED, "application-gone", had)
        assert SAID in record.detail


def test_what_a_job_ran_on_is_remembered_over_a_restart(store: Store) -> None:
    before = engine(store, allow=True)
    job = before.intake.accept(request(store, batch=4))
    while not store.jobs.get(TENANT, job.id).unchecked:
        before.step()
    after = engine(store, unchecked=())
    run_out(after)
    record = store.jobs.get(TENANT, job.id)
    assert record.state is JobState.SUCCEEDED
    assert record.unchecked == ("mix",)


def test_a_module_counts_as_checked_where_all_its_images_are() -> None:
    def image(module: str, slot: int, checked: str) -> Image:
        return Image("0" * 64, module, "b1", "s", slot, 1, 1e8, checked_build=checked)

    images = [image("a", 0, "b1"), image("a", 1, "b1"), image("b", 0, "b1"), image("b", 1, "b2"), image("c", 0, "")]
    assert unchecked_modules(images) == {"b", "c"}


def test_an_application_on_a_module_that_never_says_done_cannot_run(store: Store) -> None:
    def endless(manifest: ModuleManifest) -> ModuleManifest:
        return ModuleManifest(**{**{f: getattr(manifest, f) for f in manifest.__slots__}, "control": Control.NONE})

    modules = {**MODULES, "mix": endless(MODULES["mix"])}
    made = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, modules)
    made.start()
    with pytest.raises(InvalidRequest, match="module mix has no block-level control protocol"):
        made.intake.accept(request(store))
