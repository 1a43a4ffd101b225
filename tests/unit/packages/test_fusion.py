# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Fused tasks: the forms of an application, which one a job takes, and that it takes one before it is begun only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from eddy.core.applications import Application, FusedTask
from eddy.core.errors import InvalidRequest
from eddy.core.fusion import list_forms, select_form
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.job_records import record_of, restore_job, snapshot_of
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.residency import LIVE, Residency, never_fuse
from eddy.packages.applications import load_application, parse_application
from eddy.packages.fuse import fuse, read_stage
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView
from eddy.store.db.rows import dump_record, load_record
from eddy_studies.judge.sequences import recorded
from eddy_studies.levers.run import fused_workload
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, report, responses_s, run
from machine_kit import TWO

ROOT = Path(__file__).parents[3]
COMPRESSION = load_application(ROOT / "bitstreams/applications/image_compression.yaml")
BOTH = replace(TWO, fused=(FusedTask("both", "z", ("t", "u"), (), 1e-3, 1.0),))
FITS = {module: {0: f"{module}0", 1: f"{module}1"} for module in ("x", "y", "z")}


def names(application: Application) -> list[str]:
    return [task.name for task in application.tasks]


def test_forms_are_every_choice_of_fused_tasks_that_do_not_overlap() -> None:
    found = {form.form: form for form in list_forms(COMPRESSION)}
    assert list(found) == ["", "front+back", "front", "back"]
    assert names(found["front+back"]) == ["front", "back"]
    assert found["front+back"].edges == ((0, 1),)
    assert [buffer.name for buffer in found["front+back"].buffers] == ["image", "levels", "result"]
    assert names(found["back"]) == ["level_shift", "dct", "quantize", "back"]
    assert found["back"].edges == ((0, 1), (1, 2), (2, 3))
    assert select_form(COMPRESSION, "back") is found["back"]
    assert found["back"].label == "image_compression:back"
    with pytest.raises(InvalidRequest, match="no form 'middle'"):
        select_form(COMPRESSION, "middle")


def test_forms_are_bounded() -> None:
    fused = tuple(FusedTask(f"f{i}", "m", ("t", "u"), (), 1e-3, 1.0) for i in range(50))
    assert len(list_forms(replace(TWO, fused=fused))) == 32


def package(**fused: object) -> dict[str, object]:
    roles = {"a": "input", "b": "intermediate", "c": "intermediate", "d": "output"}
    tasks = [
        {"name": name, "arguments": {"in": read, "out": written}, "estimate_us": 10, "time_limit_ms": 1}
        for name, read, written in (("p", "a", "b"), ("q", "b", "c"), ("r", "c", "d"))
    ]
    entry = {"name": "all", "covers": ["p", "q", "r"], "arguments": {"in": "a", "out": "d"}, "estimate_us": 10}
    return {
        "application": "x",
        "buffers": {name: {"role": role, "dtype": "u1", "shape": [8]} for name, role in roles.items()},
        "tasks": tasks,
        "edges": [["p", "q"], ["q", "r"]],
        "fused": [{**entry, "time_limit_ms": 1, **fused}],
    }


def test_a_package_lists_what_modules_cover() -> None:
    (task,) = parse_application(package()).fused
    assert (task.name, task.module, task.covers) == ("all", "all", ("p", "q", "r"))


@pytest.mark.parametrize(
    ("fused", "says"),
    [
        ({"covers": ["p"]}, "at least two tasks"),
        ({"covers": ["p", "p"]}, "twice"),
        ({"covers": ["p", "s"]}, "covers"),
        ({"covers": ["p", "r"]}, "between the tasks"),
        ({"covers": ["q", "r"], "arguments": {"in": "b", "out": "c"}}, "output buffer d"),
        ({"name": "p"}, "twice"),
        ({"estimate_us": 0}, "estimate_us"),
    ],
)
def test_what_no_module_can_cover_is_refused(fused: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        parse_application(package(**fused))


def machine(fits: dict[str, dict[int, str]], residency: Residency = LIVE) -> Machine:
    return Machine({0: 1.0, 1: 1.0}, POLICIES["fcfs"](pipelined=True), fits, residency=residency)


def loads(made: Machine) -> list[str]:
    commands = made.step(0.0, [m.Arrive(m.JobSpec(1, "a", BOTH, 2))]).commands
    return [command.image for command in commands if isinstance(command, m.Load)]


def test_a_job_takes_the_form_in_which_it_ends_earliest() -> None:
    made = machine(FITS)
    assert loads(made) == ["z0"]
    assert record_of(made.jobs[1]).form == "both"
    made.step(1.0, [m.Configured(0, 1.0, 0.0)])
    made.step(1.1, [m.ItemEnded(0, 1.1, 1.0)])
    made.step(1.2, [m.ItemEnded(0, 1.2, 1.1)])
    assert not made.jobs


@pytest.mark.parametrize(
    ("fits", "residency"),
    [({k: v for k, v in FITS.items() if k != "z"}, LIVE), (FITS, Residency(fused=never_fuse))],
)
def test_it_keeps_its_tasks_without_an_image_or_on_a_machine_that_does_not_fuse(
    fits: dict[str, dict[int, str]], residency: Residency
) -> None:
    made = machine(fits, residency)
    assert loads(made) == ["x0"]
    assert record_of(made.jobs[1]).form == ""


def test_it_keeps_its_tasks_where_their_modules_are_there() -> None:
    made = machine(FITS)
    made.slots[0].module, made.slots[1].module = "x", "y"
    made.slots[0].tenant = made.slots[1].tenant = "a"
    assert loads(made) == []
    assert record_of(made.jobs[1]).form == ""


def test_a_job_that_waits_takes_the_form_whose_module_is_free() -> None:
    """The port is busy: nothing could be loaded, and what is there needs no load."""
    made = machine(FITS)
    made.slots[0].module, made.slots[0].tenant = "z", "a"
    made.state.port.begin(made.slots[1], Pool.PIPELINE)
    made.step(0.0, [m.Arrive(m.JobSpec(1, "a", BOTH, 2))])
    assert record_of(made.jobs[1]).form == "both"
    assert made.slots[0].job == 1


class UnfusedPolicy:
    """A policy that gives slot 0 to the oldest job whose tasks are not fused; counts how often it is asked."""

    name = "unfused"
    pipelined = True

    def __init__(self) -> None:
        self.asked = 0

    def initial(self) -> None:
        return None

    def decide(self, view: DispatchView) -> Dispatch:
        self.asked += 1
        job = next((job for job in view.jobs if len(job.tasks) == 2), None)
        return Dispatch(() if job is None or view.slots[0].loading else (Configure(job.id, 0, 0),))


def crowd(made: Machine, count: int, memory: bool = False) -> None:
    made.step(0.0, [m.Arrive(m.JobSpec(i, "ab"[i % 2], BOTH, 2, 1, i * 1e-6, None, memory)) for i in range(count)])


def test_jobs_that_are_alike_take_a_form_at_once_where_they_are_many() -> None:
    policy = UnfusedPolicy()
    made = Machine({0: 1.0, 1: 1.0}, policy, FITS, residency=LIVE)
    crowd(made, 400)
    assert {record_of(job).form for job in made.jobs.values()} == {"both"}
    assert policy.asked <= 40, "for two tenants, and what each would do with slots it has not"


def test_a_slot_promised_to_a_job_that_waits_for_memory_shapes_no_others() -> None:
    policy = POLICIES["eddy"]()
    # Loads short enough that nobody waits for the one slot that holds the module instead.
    made = Machine({0: 1e-3, 1: 1e-3}, policy, FITS, residency=LIVE, scrubbed=("z",))
    made.slots[0].module, made.slots[0].tenant, made.slots[0].scrubs = "z", "a", True
    crowd(made, 400, memory=True)
    asked = [job for job in made.jobs.values() if job.memory is BufferState.ASKED]
    shaped = [job for job in made.jobs.values() if job.spec.application.form]
    assert 1 <= len(asked) <= len(shaped) <= 8


def test_a_form_is_kept_over_a_restart() -> None:
    spec = m.JobSpec(1, "a", BOTH, 2)
    job = Job(spec, Graph(BOTH))
    form = select_form(BOTH, "both")
    job.set_form(form, Graph(form))
    record = load_record(dump_record(record_of(job)))
    assert record.form == "both"
    again = restore_job(replace(spec, application=form), Graph(form), record, snapshot_of(job), True)
    assert again.shaped
    assert again.items.done == [0]


def test_fused_tasks_shorten_the_recorded_sequences_and_the_trace_names_them() -> None:
    events, workload = recorded()[1], fused_workload()
    own = BoardSetting(blocking=False, reuse=True, own_tenants=True)
    plain, fused = (run(workload, events, make_player("eddy"), replace(own, fuse=each)) for each in (False, True))
    assert sum(responses_s(fused, events)) < 0.9 * sum(responses_s(plain, events))
    assert {job.form for job in plain.jobs.values()} == {""}
    taken = {row.get("task") for row in report(workload, events, fused)["trace"]}
    assert {"front", "back"} & taken


LICENCE = "Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0"


def test_the_shipped_fused_modules_are_what_fuse_writes() -> None:
    blocks = "32'(width[9:3]) * 32'(height[11:3])"
    halves = {"image_front": ("level_shift", "dct", "quantize"), "image_back": ("dequantize", "idct", "reconstruct")}
    for name, modules in halves.items():
        stages = [read_stage(ROOT / "bitstreams" / module) for module in modules]
        for path, text in fuse(name, stages, {"blocks": blocks}, ROOT).items():
            shipped = (ROOT / path).read_text(encoding="utf-8").removeprefix(f"// {LICENCE}\n")
            assert shipped.startswith(text), path


def test_what_cannot_be_fused_is_refused() -> None:
    dct = read_stage(ROOT / "bitstreams/dct")
    with pytest.raises(InvalidRequest, match="two stages at least"):
        fuse("one", [dct], {}, ROOT)
    with pytest.raises(InvalidRequest, match="no stage has a scalar"):
        fuse("two", [dct, dct], {"width": "32'd8"}, ROOT)
    with pytest.raises(InvalidRequest, match="give its manifest a `stream`"):
        read_stage(ROOT / "bitstreams/knn_search")
