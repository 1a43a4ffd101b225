# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The demonstration itself: a server in this process, tenants that talk to it over HTTP, results that are checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from eddy_sim.design.bitstreams import modules
from eddy_sim.design.models import build_models

from eddy.api.service.server import Server, ServerSettings
from eddy.cli.demo.demo_plan import Array, Order, orders, picture
from eddy.cli.support.installed import bitstreams_folder
from eddy.cli.support.progress import show_progress
from eddy.cli.tenant import timeline
from eddy.client import Client, Event, Job
from eddy.client.transport.stream import RESTARTED
from eddy.core.fusion import list_forms, select_form
from eddy.core.jobs import PRIORITIES
from eddy.packages.applications import load_application
from eddy.packages.modules import ModuleKind

Say = Callable[[str], None]
SHOWN_S = 0.2
"""Wall seconds between two looks at how far a job is, for people; hundreds of them would take a second."""


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    """What became of one order.

    Attributes:
        data: The job object as the server last gave it.
        events: All of the job's events.
        tasks: Names of the application's tasks, by id.
        outputs: What came back; empty where the job failed.
    """

    order: Order
    data: Mapping[str, Any]
    events: Sequence[Event]
    tasks: Sequence[str]
    outputs: Mapping[str, Array]

    @property
    def verified(self) -> bool:
        """Whether every output is there and equals the reference, bit for bit."""
        return outputs_match(self.outputs, self.order.expected)

    @property
    def quality(self) -> str:
        """How good the outputs are, or why there are none."""
        if self.outputs:
            return self.order.quality(self.outputs)
        return str((self.data["error"] or {}).get("cause", self.data["state"]))

    def to_json(self) -> dict[str, Any]:
        """One entry of ``jobs``."""
        data = self.data
        return {
            "id": data["id"],
            "tenant": data["tenant"],
            "application": data["application"],
            "form": data["form"],
            "batch": data["batch"],
            "priority": data["priority"],
            "state": data["state"],
            "waiting_s": data["waiting_s"],
            "reconfiguring_s": data["reconfiguring_s"],
            "running_s": data["running_s"],
            "reconfigurations": data["reconfigurations"],
            "reuses": data["reuses"],
            "verified": self.verified,
            "quality": self.quality,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes, and where the files are."""

    board: str
    profile: str
    policy: str
    outcomes: tuple[OrderOutcome, ...]
    files: Mapping[str, Path]

    @property
    def verified(self) -> bool:
        """Whether every result is right."""
        return bool(self.outcomes) and all(outcome.verified for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """What `eddy demo --json` prints."""
        return {
            "board": self.board,
            "profile": self.profile,
            "policy": self.policy,
            "verified": self.verified,
            "jobs": [outcome.to_json() for outcome in self.outcomes],
            **{name: str(path) for name, path in self.files.items()},
        }


def run(profile: str, policy: str, data: Path, out: Path, say: Say, progress: Say) -> Report:
    """Build the board, serve it, run every order, write timeline, trace and picture.

    Args:
        profile: Board profile to simulate.
        policy: Dispatch policy.
        data: Directory for the server's store; nothing in it is needed afterwards.
        progress: Told how far the building is.
    """
    say(f"building the simulated board, profile {profile}")
    submitted = orders()
    build_models(profile, progress, modules_of(submitted))
    settings = ServerSettings("rtl", profile, policy, data, bitstreams_folder(""), port=0)
    with Server(settings, progress=say).background() as server:
        threading.Thread(target=timeline.prepare, name="eddy-timeline", daemon=True).start()
        say(f"the hypervisor serves {len(server.board.describe().slots)} slots on {server.url}")
        outcomes = submit_all(server.url, server.key_file.read_text().strip(), submitted, say)
    say("every result is right" if all(outcome.verified for outcome in outcomes) else "a result is WRONG")
    files = write(outcomes, out, f"{profile} board, policy {policy}")
    return Report("rtl", profile, policy, tuple(outcomes), files)


def modules_of(submitted: Iterable[Order]) -> frozenset[str]:
    """The modules the orders can need: those of their applications' tasks, and the GPU clusters for kernels."""
    folder = bitstreams_folder("")
    packages = {folder / "applications" / f"{name}.yaml" for order in submitted for name in order.packages}
    every = [form for package in packages for form in list_forms(load_application(package))]
    used = {task.module for form in every for task in form.tasks}
    return frozenset(used | {module.module for module in modules() if module.kind is ModuleKind.GPU})


def _tasks(order: Order, client: Client, form: str) -> list[str]:
    """Names of an order's tasks in the form its job was run in, by their id."""
    if not form:
        return order.tasks(client)
    application = load_application(bitstreams_folder("") / "applications" / f"{order.application}.yaml")
    return [task.name for task in select_form(application, form).tasks]


def submit_all(url: str, operator_key: str, wanted: Sequence[Order], say: Say) -> list[OrderOutcome]:
    """Make the tenants, submit every order over HTTP in order, follow all of them, check what comes back."""
    tenants = sorted({order.tenant for order in wanted})
    with Client(url, operator_key) as operator:
        keys = {name: operator.add_tenant(name, max_priority=PRIORITIES[-1])["key"] for name in tenants}
    clients = {name: Client(url, key) for name, key in keys.items()}
    say(f"tenants {', '.join(tenants)} submit {len(wanted)} jobs")
    try:
        jobs = [order.submit(clients[order.tenant]) for order in wanted]
        with show_progress() as watch, ThreadPoolExecutor(len(wanted)) as pool:
            futures = [
                pool.submit(_finish, clients[order.tenant], order, job, watch)
                for order, job in zip(wanted, jobs, strict=True)
            ]
            return [future.result() for future in futures]
    finally:
        for client in clients.values():
            client.close()


def _finish(client: Client, order: Order, job: Job, watch: Callable[[Job], None]) -> OrderOutcome:
    """Follow one job to its end and fetch its outputs."""
    events, shown_s = list[Event](), float("-inf")
    for event in job.events():
        if event.kind == RESTARTED:
            events.clear()
            continue
        events.append(event)
        if event.kind in ("state", "result") and time.monotonic() - shown_s >= SHOWN_S:
            watch(job.refresh())
            shown_s = time.monotonic()
    watch(job.refresh())
    return OrderOutcome(
        order,
        job.data,
        events,
        _tasks(order, client, str(job.data["form"])),
        job.outputs if job.state == "succeeded" else {},
    )


def outputs_match(outputs: Mapping[str, Array], expected: Mapping[str, Array]) -> bool:
    """Whether every expected output is there, bit for bit."""
    return outputs.keys() == expected.keys() and all(
        outputs[name].dtype == expected[name].dtype and np.array_equal(outputs[name], expected[name])
        for name in expected
    )


def spans(outcomes: Iterable[OrderOutcome]) -> list[timeline.TimelineSpan]:
    """What every slot did, from the jobs' events."""
    found = (_span(event, outcome.data, outcome.tasks) for outcome in outcomes for event in outcome.events)
    return [span for span in found if span is not None]


_SPANS: Mapping[str, tuple[timeline.SpanKind, bool]] = {
    "configured": ("reconfigure", True),
    "configuration_failed": ("reconfigure", False),
    "item_done": ("run", True),
    "item_failed": ("run", False),
}


_RESET: tuple[timeline.SpanKind, bool] = ("reset", True)
"""A module that served another tenant was reset for this one."""


def _span(event: Event, job: Mapping[str, Any], names: Sequence[str]) -> timeline.TimelineSpan | None:
    data = event.data
    if event.kind not in _SPANS or data.get("started_s") is None or data.get("slot") is None:
        return None
    if data.get("detail") == "resident":  # reused: nothing was loaded, so there is nothing to draw
        return None
    kind, ok = _RESET if data.get("detail") == "scrub" else _SPANS[event.kind]
    name = names[data["task"]] if "task" in data else ""
    item = data.get("item") if kind == "run" else None
    return timeline.TimelineSpan(
        data["slot"], kind, data["started_s"], data["at_s"], job["tenant"], str(job["id"]), name, item, ok
    )


def write(outcomes: Sequence[OrderOutcome], out: Path, title: str) -> dict[str, Path]:
    """Write the timeline, the trace and the picture; answers where they are."""
    files = {
        "timeline": out / "timeline.png",
        "trace": out / "trace.json",
        "picture": out / "before-after.png",
    }
    drawn = spans(outcomes)
    timeline.draw(drawn, title, files["timeline"])
    timeline.write_trace(drawn, title, files["trace"])
    picture(outcomes[0].order, outcomes[0].outputs, files["picture"])
    return files
