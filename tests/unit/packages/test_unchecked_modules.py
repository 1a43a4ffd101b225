# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules whose build has no check on record: no job is given one, unless the operator lets it, and then it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.slots import Control, Image
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.machine.translate import unchecked_modules
from eddy.packages.checks import ChecksOnRecord
from eddy.packages.manifests import CHECK_RECORD, load_module_manifest
from eddy.packages.modules import ModuleManifest, no_check
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.rows import dump_record, load_record
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, request
from system.jobs.live_rig import run_out

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


def test_a_module_that_is_checked_while_the_server_runs_is_given_to_jobs(store: Store) -> None:
    """The record is read when a job would be refused, and not again once the module is let in."""
    asked, refused = list[tuple[str, str]](), ["not yet"]

    def standing(module: str, build: str) -> str:
        asked.append((module, build))
        return refused[0]

    board = model_board(unchecked=("mix",))
    made = Engine(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES, standing=standing)
    made.start()
    with pytest.raises(InvalidRequest, match="chain cannot run on this board: not yet"):
        made.intake.accept(request(store))
    assert {module for module, _ in asked} == {"mix"}
    refused[0] = ""
    asked.clear()
    jobs = [made.intake.accept(request(store)) for _ in range(2)]
    assert len(asked) == 1
    run_out(made)
    for job in jobs:
        record = store.jobs.get(TENANT, job.id)
        assert (record.state, record.unchecked) == (JobState.SUCCEEDED, ())
        assert store.outputs.read(TENANT, job.id, "out") == expected()


def test_a_module_that_was_let_in_is_given_to_jobs_after_the_board_was_lost(store: Store) -> None:
    made = Engine(
        model_board(unchecked=("mix",)),
        POLICIES["fcfs"](),
        store,
        {CHAIN.name: CHAIN},
        MODULES,
        standing=lambda *_: "",
    )
    made.start()
    job = made.intake.accept(request(store))
    made.start()
    run_out(made)
    record = store.jobs.get(TENANT, job.id)
    assert (record.state, record.unchecked) == (JobState.SUCCEEDED, ())


MANIFEST = """\
module: mix
kind: hls
files: mix.f
register_map: "1.0"
clk_hz: 100000000
registers:
  in: {offset: 0x10, width: 64, kind: pointer, access: r}
"""


def test_records_are_read_again(tmp_path: Path) -> None:
    def record(build: str) -> None:
        text = f'build: "{build}"\ninterface: "{load_module_manifest(folder).interface}"\n'
        (folder / CHECK_RECORD).write_text(text, encoding="utf-8")

    folder, loaded, newer = tmp_path / "mix", "1" * 16, "2" * 16
    folder.mkdir()
    (folder / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    standing = ChecksOnRecord(tmp_path, {"mix": load_module_manifest(folder)})
    assert standing("mix", loaded) == no_check("mix")
    record(loaded)
    assert standing("mix", loaded) == ""
    record(newer)
    assert "a restart builds the module from today's sources" in standing("mix", loaded)
    assert ChecksOnRecord(tmp_path, standing.loaded, any_build=True)("mix", loaded) == ""
    (folder / "manifest.yaml").write_text(MANIFEST.replace("0x10", "0x18"), encoding="utf-8")
    assert standing("mix", loaded) == no_check("mix"), "what was checked had other registers"
    record(loaded)
    assert "sources or manifest have changed" in standing("mix", loaded)
    (folder / "manifest.yaml").write_text("module: [", encoding="utf-8")
    assert standing("mix", loaded) == no_check("mix")


def test_an_old_record_does_not_ask_for_a_restart(tmp_path: Path) -> None:
    """What is loaded is newer than the record: a check is what is missing."""
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix/manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    interface = load_module_manifest(tmp_path / "mix").interface
    (tmp_path / "mix" / CHECK_RECORD).write_text(f'build: "{"1" * 16}"\ninterface: "{interface}"\n', encoding="utf-8")
    standing = ChecksOnRecord(tmp_path, {"mix": load_module_manifest(tmp_path / "mix")})
    assert standing("mix", "2" * 16) == no_check("mix")
