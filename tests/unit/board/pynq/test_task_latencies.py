# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tasks that share a module: what the model board takes for each, and where it learns it."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import Launch
from eddy.board.remote.factory import open_board
from eddy.core.records import JobEventKind
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import run_virtual
from eddy.packages.catalogue import CatalogueInForce, load_catalogue
from eddy.policy.dispatch import POLICIES
from hypervisor_kit import description

CATALOGUE = load_catalogue(Path(__file__).parents[4] / "bitstreams")
ALEXNET = CATALOGUE.application("alexnet")
FOREVER = float("inf")


@pytest.mark.parametrize(("task", "takes_s"), [("app/long", 0.5), ("app/other", 0.1), ("", 0.1)])
def test_an_item_takes_its_tasks_time_else_its_modules(task: str, takes_s: float) -> None:
    described = description(1, 1 << 16)
    board = ModelBoard(described, model_images(described, ["conv"]), {"conv": 0.1, "app/long": 0.5})
    board.load(0, board.images()[0].sha256)
    loaded = board.wait(FOREVER)[-1]
    board.launch(0, Launch("i", (), (), 1.0, task=task))
    assert board.wait(FOREVER, loaded.seq)[-1].at_s - loaded.at_s == pytest.approx(takes_s)


def test_estimates_are_by_task_and_by_module() -> None:
    estimates = CATALOGUE.estimates_s
    for task in ALEXNET.tasks:
        assert estimates[ALEXNET.task_name(task.id)] == task.estimate_s
    assert (
        estimates["conv_pool"] == CATALOGUE.estimate_s("conv_pool") > 2 * min(task.estimate_s for task in ALEXNET.tasks)
    )
    names = list(estimates)
    assert len(names) == len(set(names)) == len(estimates)
    assert {"alexnet/conv5b_3", "lenet/layer_conv1_pool2", "dct"} <= set(names)
    for unknown in ("alexnet/conv9", "nobody/conv1_0", "no_module", ""):
        assert unknown not in estimates


def test_estimates_know_applications_that_were_added_later() -> None:
    catalogue = CatalogueInForce(CATALOGUE)
    estimates = catalogue.estimates_s
    assert "more/one" not in estimates
    raw = {
        "application": "more",
        "buffers": {
            name: {"role": role, "dtype": "u1", "shape": [8]} for name, role in (("a", "input"), ("b", "output"))
        },
        "tasks": [
            {
                "name": "one",
                "module": "dct",
                "arguments": {"in": "a", "out": "b", "blocks": 1},
                "estimate_us": 7,
                "time_limit_ms": 1,
            }
        ],
    }
    assert catalogue.add(raw)[1]
    assert "more/one" not in CATALOGUE.estimates_s, "a catalogue does not change: another one takes its place"
    assert estimates["more/one"] == pytest.approx(7e-6)


def test_a_job_on_the_model_board_takes_each_tasks_own_time() -> None:
    estimates = CATALOGUE.estimates_s
    board = open_board("model", "kv260", modules=["conv_pool", "dense"], latency=estimates)
    assert isinstance(board, ModelBoard)
    run = run_virtual(board, POLICIES["eddy"](), [JobSpec(1, "t", ALEXNET, 2, 1, 0.0)])
    took = {
        (event.task, event.item): event.at_s - (event.started_s or 0.0)
        for event in run.log
        if event.what is JobEventKind.ITEM_DONE and event.task is not None
    }
    assert len(took) == 2 * len(ALEXNET.tasks)
    for (task, _), took_s in took.items():
        assert took_s == pytest.approx(ALEXNET.tasks[task].estimate_s)
