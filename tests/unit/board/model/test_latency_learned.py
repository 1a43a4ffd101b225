# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is learned of items' durations: task by task, and what stands in for a task that was not seen."""

from __future__ import annotations

import dataclasses
import random

import pytest
from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application, TaskSpec
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.translate import item_name
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.model.latency.learned import APPLICATIONS, MEMORY, Item, Latencies
from eddy.policy.dispatch.eddy import Eddy
from eddy.policy.dispatch.views.view import Dispatch, DispatchView

LAYERS_US = (1832.0, 822.0, 460.0, 232.0, 103.0)
"""AlexNet's convolutions, all on one module: the longest takes 18 times as long as the shortest."""


def item(module: str, took_s: float, application: str = "a", task: int = 0, estimate_s: float = 1.0) -> Item:
    return Item(application, task, module, estimate_s, took_s)


def test_tasks_that_share_a_module_are_each_predicted_right_after_three_items() -> None:
    rng = random.Random(18)
    learned = Latencies()
    truth_s = [2e-6 * layer_us for layer_us in LAYERS_US]
    graph = [("conv", 1e-6 * layer_us) for layer_us in LAYERS_US]
    for _ in range(3):
        noisy = [truth_s[task] * rng.uniform(0.97, 1.03) for task in range(len(graph))]
        learned = learned.observe([Item("net", task, "conv", graph[task][1], s) for task, s in enumerate(noisy)])
    errors = [found / true - 1 for found, true in zip(learned.predict("net", graph), truth_s, strict=True)]
    print("per task " + ", ".join(f"{error:+.2%}" for error in errors))
    assert max(map(abs, errors)) < 0.03, "no more than one item differs from another"


def test_one_task_seen_tells_of_the_others_on_its_module() -> None:
    learned = Latencies().observe([Item("net", 0, "conv", 1e-3, 2e-3)])
    graph = [("conv", 1e-3), ("conv", 5e-5), ("dense", 1e-4)]
    assert learned.predict("net", graph) == pytest.approx((2e-3, 1e-4, 2e-4))


def test_what_stands_in_for_a_task_not_seen() -> None:
    learned = Latencies().observe(
        [
            item("conv", 2.0, "net", 0),
            item("dense", 6.0, "net", 1),
            item("dense", 10.0, "other", 0),
            item("flow", 4.0, "other", 1),
        ]
    )
    graph = [("conv", 1.0), ("dense", 1.0), ("conv", 3.0), ("fft", 3.0)]
    assert learned.predict("net", graph) == (2.0, 6.0, 6.0, 12.0), (
        "its module's factor in it; else its own, (2 + 6) / 2"
    )
    assert learned.predict("new", [("dense", 2.0)]) == (16.0,), "its module's elsewhere, (6 + 10) / 2"
    assert learned.predict("new", [("fft", 2.0)]) == (2.0,), "nothing: the estimate"


def test_a_task_is_the_applications_own() -> None:
    learned = Latencies().observe([item("m", 2.0, "a"), item("m", 8.0, "b")])
    assert learned.predict("a", [("m", 1.0)]) == (2.0,)
    assert learned.predict("b", [("m", 1.0)]) == (8.0,)


def test_a_task_that_became_another_is_learned_anew() -> None:
    learned = Latencies().observe([item("m", 2.0), item("n", 5.0)])
    assert learned.predict("a", [("n", 1.0)]) == (5.0,)
    assert learned.modules["n"].real_s == 5.0
    assert learned.observe([item("n", 7.0, estimate_s=2.0)]).predict("a", [("n", 2.0)]) == (7.0,)
    assert learned.predict("a", [("m", 3.0)]) == (15.0,), "of the former task nothing is left"


def test_items_without_estimate_or_duration_teach_no_factor() -> None:
    learned = Latencies().observe([item("m", 2.0, estimate_s=0.0), item("n", 0.0, "b")])
    assert learned.predict("a", [("m", 0.0), ("m", 1.0)]) == (2.0, 1.0)
    assert learned.predict("b", [("n", 1.0), ("n", 4.0)]) == (0.0, 4.0)


def test_the_version_changes_only_when_something_moved() -> None:
    learned = Latencies().observe([item("a", 1.0)])
    assert learned.version == 1
    assert learned.observe([item("a", 1.01)]).version == 1
    assert learned.observe([item("a", 2.0)]).version == 2


def test_means_follow_a_change() -> None:
    learned = Latencies().observe([item("a", 1.0)] * 1000).observe([item("a", 2.0)] * (3 * MEMORY))
    assert learned.tasks["a"][0].mean_s > 1.9
    assert learned.predict("a", [("a", 1.0)])[0] > 1.85


def test_applications_not_seen_for_long_are_forgotten_with_their_factors() -> None:
    learned = Latencies().observe([item("m", 9.0, "first"), item("m", 9.0, "second")])
    for number in range(APPLICATIONS - 2):
        learned = learned.observe([item("n", 2.0, f"app{number}")])
    learned = learned.observe([item("m", 9.0, "first"), item("n", 2.0, "one more")])
    assert len(learned.tasks) == APPLICATIONS
    assert "first" in learned.tasks
    assert "second" not in learned.tasks
    assert learned.modules["m"].estimated_s == 1.0


# What it is good for: two applications on one module ---------------------------------------------------------------

LONG = Application("long", (TaskSpec(0, "t", "conv", (), 0.9, 60.0),), (), (), 100, 1)
SHORT = Application("short", (TaskSpec(0, "t", "conv", (), 0.05, 60.0),), (), (), 100, 1)
TAKES_S = {"long": 1.8, "short": 0.1}


def play(policy: Eddy) -> tuple[VirtualRun, float]:
    """One of each, and when both are long gone three long jobs and six short ones; the mean response of those."""
    jobs = [JobSpec(n, "t", app, 2, 1, 0.0) for n, app in enumerate((LONG, SHORT))]
    jobs += [JobSpec(2 + n, "t", LONG if n < 3 else SHORT, 2, 1, 20.0) for n in range(9)]
    by_item = {item_name(job.id, 0, i): TAKES_S[job.application.name] for job in jobs for i in range(2)}
    slots = (SlotDescription(0, "slot0", Pool.PIPELINE, 1000, 1e8),)
    description = BoardDescription("model", "one slot", SHELL, 1e8, slots, 1 << 30, 1e9, False)
    board = ModelBoard(
        description,
        model_images(description, ["conv"]),
        lambda _module, name: by_item[name],
        load_times={0: LoadTime(0.0, 0.01)},
        real_memory=False,
    )
    run = run_virtual(board, policy, jobs)
    return run, sum(run.jobs[job.id].response_s or 0.0 for job in jobs[2:]) / 9


class ByModule(Eddy):
    """The same, but blind to tasks: every one is predicted what its module's items take on average."""

    def decide(self, view: DispatchView) -> Dispatch:
        learned: Latencies = view.memory.learned
        seen = [seen.used_s for tasks in learned.tasks.values() for seen in tasks.values()]
        mean_s = sum(seen) / max(len(seen), 1)
        predicted = {job.application: (mean_s,) * len(job.tasks) for job in view.jobs} if seen else {}
        memory = dataclasses.replace(view.memory, predicted=predicted)
        return super().decide(dataclasses.replace(view, memory=memory))


def test_short_tasks_are_told_from_long_ones_on_the_same_module() -> None:
    run, by_task_s = play(Eddy())
    _, by_module_s = play(ByModule())
    print(f"mean response {by_task_s:.2f} s by task, {by_module_s:.2f} s by module")
    assert by_task_s < 0.7 * by_module_s
    again, _ = play(Eddy())
    assert again.log == run.log
