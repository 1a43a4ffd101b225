# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A program that another version of Eddy compiled is not run: its source is compiled again."""

from __future__ import annotations

import dataclasses
import json

import pytest
from cores_kit import manifest
from eddy.core.errors import Conflict
from eddy.core.records import KERNEL, JobRequest
from eddy.gpu.compilation import library
from eddy.gpu.compilation.toolchain import CompilerMissing
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.intake.kernels import REGION, KernelPlanner, load_program
from eddy.store import Store
from unit.gpu_kit import compiler

HARD, SOFT = manifest(2), manifest(2, fpu=False)
SOURCE = "kernel void twice(global float *y) { y[get_global_id(0)] *= 2.0f; }"
REQUEST = JobRequest("ada", "", kind=KERNEL, body=KernelRequest(SOURCE, "twice", (64,), (None,)).to_json())


@pytest.fixture
def planner() -> KernelPlanner:
    made = KernelPlanner({each.module: each for each in (HARD, SOFT)}, compiler())
    made.available, made.arena = frozenset({HARD.module, SOFT.module}), 1 << 22
    return made


def older(text: str, **changed: object) -> str:
    return json.dumps({**json.loads(text), **changed})


def test_what_was_made_with_this_compiler_is_kept(planner: KernelPlanner) -> None:
    plans = planner.prepare_spread(REQUEST, Store(":memory:"), "r:")
    first = next(iter(plans.values()))
    text = first.program.to_json()
    assert first.program.made_by == library.digest(first.program.fpu)
    assert load_program(text) == first.program
    again = planner.restore_spread(REQUEST, first.record, text, "r:")
    assert next(iter(again.values())).program == first.program


def test_jobs_that_run_one_program_share_it_when_they_are_recovered(planner: KernelPlanner) -> None:
    plans = planner.prepare_spread(REQUEST, Store(":memory:"), "r:")
    text = next(iter(plans.values())).program.to_json()
    assert load_program(text) is load_program(str(text.encode(), "utf-8"))
    other = older(text, warnings="said something")
    assert load_program(other) != load_program(text)


@pytest.mark.parametrize(
    "changed",
    [
        {"made_by": "an older library", "elf": "AAAA"},
        {"made_by": ""},
        {"kernels": {"twice": {"name": "twice"}}},
        {"arguments_at": 64},
    ],
)
def test_what_another_version_made_is_compiled_again(planner: KernelPlanner, changed: dict[str, object]) -> None:
    plans = planner.prepare_spread(REQUEST, Store(":memory:"), "r:")
    record, text = next(iter(plans.values())).record, next(iter(plans.values())).program.to_json()
    found = planner.restore_spread(REQUEST, record, older(text, **changed), "r:")
    assert {module: plan.program for module, plan in found.items()} == {
        module: plan.program for module, plan in plans.items()
    }
    assert set(found) == {HARD.module, SOFT.module}, "also for clusters that the kept program could not run on"


def test_nothing_but_a_program_is_kept_and_any_where_there_is_no_compiler(
    planner: KernelPlanner, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = older(planner.prepare(REQUEST, Store(":memory:")).program.to_json(), made_by="older")
    assert [load_program(bad) for bad in ("", "{}", "[]", "null", text)] == [None] * 5

    def missing(fpu: bool) -> str:
        raise CompilerMissing("there is none")

    monkeypatch.setattr(library, "digest", missing)
    found = load_program(text)
    assert found is not None
    assert found.made_by == "older"
    assert load_program(older(text, layout="another")) is None, "its launch block would be read wrongly"


def test_a_whole_kernel_compiled_again_has_a_region_of_its_own(planner: KernelPlanner) -> None:
    plan = planner.prepare(REQUEST, Store(":memory:"))
    text = plan.program.to_json()
    assert [b.name for b in planner.restore(REQUEST, plan.record, text).application.buffers] == [REGION]
    again = planner.restore(REQUEST, plan.record, older(text, made_by="older"))
    assert again.program == plan.program
    assert [b.name for b in again.application.buffers] != [REGION], "what the older one left is not gone on with"
    with pytest.raises(Conflict, match="submit it again"):
        planner.restore(REQUEST, dataclasses.replace(plan.record, groups=plan.record.groups + 1), text)
