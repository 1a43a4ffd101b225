# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Many equal jobs at once whose items are far shorter than loads: all of them go through a task before the next one."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import run_virtual
from eddy.packages.catalogue import load_catalogue
from eddy.policy.dispatch import POLICIES

SHIPPED = Path(__file__).resolve().parents[4] / "bitstreams"
JOBS, LOAD_S = 60, 5.5e-3


def _run(policy: str, slots: int) -> tuple[float, float, int]:
    """Mean response and last end, in board seconds, and loads."""
    application = load_catalogue(SHIPPED, SHIPPED / "none").applications["image_compression"]
    item_s = {task.module: task.estimate_s for task in application.tasks}
    described = tuple(SlotDescription(index, f"slot{index}", Pool.PIPELINE, 1, 1e8) for index in range(slots))
    board = BoardDescription("model", "test", SHELL, 1e8, described, 1 << 30, 1e9, False)
    times = {index: LoadTime(0.0, LOAD_S) for index in range(slots)}
    model = ModelBoard(
        board,
        model_images(board, item_s),
        lambda module, _: item_s[module],
        load_times=times,
        real_memory=False,
    )
    jobs = [JobSpec(number + 1, "ada", application, 1, 1, 0.0, None) for number in range(JOBS)]
    run = run_virtual(model, POLICIES[policy](pipelined=True), jobs, load_s=dict.fromkeys(times, LOAD_S))
    responses = [job.response_s for job in run.jobs.values() if job.response_s is not None]
    assert len(responses) == JOBS
    return fmean(responses), max(responses), sum(job.reconfigurations for job in run.jobs.values())


@pytest.mark.parametrize("slots", [2, 4])
def test_modules_stay_while_many_want_them_and_all_end_sooner(slots: int) -> None:
    mean_s, last_s, loads = _run("eddy", slots)
    others = [_run(policy, slots) for policy in ("fcfs", "round_robin", "nimblock")]
    assert loads < JOBS / 2  # job by job, six tasks on fewer slots take a load each
    assert mean_s < min(other for other, _, _ in others)
    assert last_s > 6 * LOAD_S  # six modules, each loaded once at least, through one port
