# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The demo's jobs in virtual time, under each lever: what they wait, what the port does, what slots do.

The jobs are those of `eddy demo`, all there at the start: five of two packaged applications by three tenants, and a
kernel, which here is one item on the GPU cluster. Images come from memory, as on the simulated board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from eddy.board.model.model import ModelBoard
from eddy.board.port.profile import Profile, load_profile
from eddy.core.applications import Application, TaskSpec
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.slots import Pool
from eddy.host.distribution import source_tree
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.hypervisor.slots.residency import LIVE, always_fuse, never_fuse
from eddy.packages.applications import load_application
from eddy.policy.dispatch import POLICIES

BITSTREAMS = source_tree() / "bitstreams"
KERNEL = "kernel"
KERNEL_S = 1.78e-3
"""What the kernel of the demo takes on the cluster, measured on the simulated board."""
JOBS = (
    ("ada", "image_compression", 15, 3),
    ("grace", "digit_recognition", 8, 1),
    ("edsger", "image_compression", 4, 9),
    ("edsger", "digit_recognition", 4, 3),
    ("grace", "image_compression", 2, 1),
)
"""Tenant, application, batch and priority, in order of submission; the kernel comes last."""

BEGIN_S = 1.0
"""When they are submitted: the board has read what it will need by then."""


@dataclass(frozen=True, slots=True)
class DemoSetting:
    """How the demo's board behaves.

    Attributes:
        profile: Which board; it says how fast the port is.
        scrub: Whether modules that a reset scrubs serve another tenant without a load.
        fuse: Whether jobs may run on fused tasks.
        port_times: How many times the profile's rate the port takes.
        smaller: How many times smaller images are than the profile's, at the port.
        rounds: How often the jobs come: each time when those before have ended.
    """

    profile: str = "kv260"
    scrub: bool = False
    fuse: bool = False
    port_times: float = 1.0
    smaller: float = 1.0
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class DemoFigures:
    """What came of it.

    Attributes:
        mean_s: Mean response of the application jobs, five a round, in board seconds.
        loads: Loads of all slots.
        port: Share of the time, from the first submission to the last end, in which the port was busy.
        compute: Share of their time in which slots of the `pipeline` pool ran items, in the mean.
    """

    mean_s: float
    loads: int
    port: float
    compute: float


@cache
def applications() -> Mapping[str, Application]:
    """The packages the jobs are of, by name, and the kernel as an application of one task."""
    packages = {name: load_application(BITSTREAMS / "applications" / f"{name}.yaml") for _, name, _, _ in JOBS}
    kernel = Application(KERNEL, (TaskSpec(0, "sgemm", KERNEL, (), KERNEL_S, 1.0),), ())
    return {**packages, KERNEL: kernel}


def figures(setting: DemoSetting) -> DemoFigures:
    """Run the demo's jobs under `eddy`; the same figures every time."""
    profile = _profile(setting)
    slots = [slot.index for slot in profile.slots if slot.pool is Pool.PIPELINE]
    begins_s = [BEGIN_S]
    for _ in range(setting.rounds):
        result = _run(profile, setting, begins_s)
        begins_s.append(max(job.ended_s or 0.0 for job in result.jobs.values()))
    end_s = begins_s[-1] - BEGIN_S
    waited_s = [
        (job.ended_s or 0.0) - begins_s[number // (len(JOBS) + 1)]
        for number, job in result.jobs.items()
        if number % (len(JOBS) + 1) < len(JOBS)
    ]
    loads = [entry for entry in result.log if entry.what is JobEventKind.CONFIGURED and not entry.detail]
    items = [entry for entry in result.log if entry.what is JobEventKind.ITEM_DONE and entry.slot in slots]
    return DemoFigures(
        mean_s=sum(waited_s) / len(waited_s),
        loads=len(loads),
        port=_took_s(loads) / end_s,
        compute=_took_s(items) / (end_s * len(slots)),
    )


def _took_s(entries: Iterable[JobEvent]) -> float:
    return sum(entry.at_s - (entry.started_s or 0.0) for entry in entries)


def _profile(setting: DemoSetting) -> Profile:
    profile = load_profile(setting.profile)
    port = profile.configuration
    port = replace(port, bytes_per_s=port.bytes_per_s * setting.port_times, storage_bytes_per_s=0.0)
    slots = (replace(slot, image_bytes=round(slot.image_bytes / setting.smaller)) for slot in profile.slots)
    return replace(profile, configuration=port, slots=tuple(slots))


def _run(profile: Profile, setting: DemoSetting, begins_s: Sequence[float]) -> VirtualRun:
    latency_s: dict[str, float] = {}
    for application in applications().values():
        latency_s |= {task.module: task.estimate_s for task in application.tasks}
        latency_s |= {task.module: task.estimate_s for task in application.fused}
    board = ModelBoard.from_profile(
        profile, sorted(latency_s), latency_s, sorted(latency_s) if setting.scrub else (), real_memory=False
    )
    jobs: list[JobSpec] = []
    for begin_s in begins_s:
        for tenant, name, batch, priority in JOBS:
            jobs.append(JobSpec(len(jobs), tenant, applications()[name], batch, priority, begin_s))
        jobs.append(JobSpec(len(jobs), "grace", applications()[KERNEL], 1, 1, begin_s, pool=Pool.GPU))
    residency = replace(LIVE, fused=always_fuse if setting.fuse else never_fuse)
    return run_virtual(board, POLICIES["eddy"](), jobs, residency=residency, gpu_policy=POLICIES["fcfs"]())
