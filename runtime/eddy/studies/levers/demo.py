"""The demo's jobs in virtual time, under each lever: what they wait, what the port does, what slots do.

The jobs are those of `eddy demo`, all there at the start: five of two packaged applications by three tenants, and a
kernel, which here is one item on the GPU cluster. Images come from memory, as on the simulated board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from eddy.board.model import ModelBoard
from eddy.board.profile import Profile, load_profile
from eddy.core.applications import Application, TaskSpec
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.messages import JobSpec
from eddy.hypervisor.residency import LIVE
from eddy.hypervisor.virtual import VirtualRun, run_virtual
from eddy.packages.applications import load_application
from eddy.policy.dispatch import POLICIES

BITSTREAMS = Path(__file__).parents[4] / "bitstreams"
KERNEL = "kernel"
KERNEL_S = 4.4e-3
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
    """

    profile: str = "kv260"
    scrub: bool = False
    fuse: bool = False


@dataclass(frozen=True, slots=True)
class DemoFigures:
    """What came of it.

    Attributes:
        mean_s: Mean response of the five application jobs, in board seconds.
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
    profile = load_profile(setting.profile)
    slots = [slot.index for slot in profile.slots if slot.pool is Pool.PIPELINE]
    result = _run(profile, setting)
    ended_s = {number: (job.ended_s or 0.0) - BEGIN_S for number, job in result.jobs.items()}
    end_s = max(ended_s.values())
    loads = [entry for entry in result.log if entry.what is JobEventKind.CONFIGURED and not entry.detail]
    items = [entry for entry in result.log if entry.what is JobEventKind.ITEM_DONE and entry.slot in slots]
    return DemoFigures(
        mean_s=sum(ended_s[number] for number in range(len(JOBS))) / len(JOBS),
        loads=len(loads),
        port=_took_s(loads) / end_s,
        compute=_took_s(items) / (end_s * len(slots)),
    )


def _took_s(entries: Iterable[JobEvent]) -> float:
    return sum(entry.at_s - (entry.started_s or 0.0) for entry in entries)


def _run(profile: Profile, setting: DemoSetting) -> VirtualRun:
    latency_s: dict[str, float] = {}
    for application in applications().values():
        latency_s |= {task.module: task.estimate_s for task in application.tasks}
        latency_s |= {task.module: task.estimate_s for task in application.fused}
    timed = replace(profile, configuration=replace(profile.configuration, storage_bytes_per_s=0.0))
    board = ModelBoard.from_profile(
        timed, sorted(latency_s), latency_s, sorted(latency_s) if setting.scrub else (), real_memory=False
    )
    jobs = [
        JobSpec(number, tenant, applications()[name], batch, priority, BEGIN_S)
        for number, (tenant, name, batch, priority) in enumerate(JOBS)
    ]
    jobs.append(JobSpec(len(JOBS), "grace", applications()[KERNEL], 1, 1, BEGIN_S, pool=Pool.GPU))
    residency = replace(LIVE, fuse=setting.fuse)
    return run_virtual(board, POLICIES["eddy"](), jobs, residency=residency, gpu_policy=POLICIES["fcfs"]())
