# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy demo --slowdown`: three tenants on one cluster, of which one is hungry for memory, under six ways to share it.

Everything happens over HTTP, on the RTL of the board. First each tenant runs alone, which says how fast its kernel goes
with every core. Then all three run at once: whole clusters in turns (`fcfs`), even shares (`entitlement`), HSM-Fair,
the same on what the hypervisor remembers of each kernel alone (`eddy_slowdown_fair`), and promises kept by either
(`hsm_qos`, `eddy_slowdown_qos`), the last five switched while kernels run. Progress is measured: work done a second
beside the others, over that alone. Prediction has no part in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from eddy_sim.design import bitstreams, build
from eddy_sim.design.models import build_models
from eddy_sim.device import SimClock, SimDevice

from eddy.api.service.server import Server, ServerSettings
from eddy.board.images.signing import Trust
from eddy.board.port.port import BoardPort
from eddy.board.port.profile import Profile, load_profile
from eddy.board.remote.factory import open_device
from eddy.cli.demo.demo_slowdown_picture import SharedPhase, draw
from eddy.client import Client
from eddy.core.errors import BoardFault, Conflict
from eddy.core.slots import Pool
from eddy.hypervisor.cores import calibration
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.engine.calibration_run import calibrate
from eddy.model.slowdown import fairness
from eddy.packages.catalogue import load_catalogue
from eddy.packages.manifests import load_module_manifest

MODULES = build.ROOT / "bitstreams" / "slowdown"
MODULE = "gpu_6c2w2tx"
BUS_CYCLE_NS = 20.0
BYTES_PER_S = 64 / (30 * BUS_CYCLE_NS) * 1e9
"""What the memory's data bus moves: a line of 64 bytes in thirty cycles."""


def slow_memory() -> Profile:
    """A board of one slot, whose memory one cluster can fill."""
    tiny = load_profile("tiny")
    slot = replace(tiny.slots[0], pool=Pool.GPU)
    rcd = rp = cl = 7 * BUS_CYCLE_NS
    dram = replace(tiny.dram, rcd_ns=rcd, rp_ns=rp, cl_ns=cl, ras_ns=17 * BUS_CYCLE_NS, bytes_per_s=BYTES_PER_S)
    return replace(tiny, name="slowdown", slots=(slot,), dram=dram)


def open_slow_memory(progress: Callable[[str], None]) -> BoardPort:
    """Build what is missing and open the board.

    Args:
        progress: Told what is being built.
    """
    profile = slow_memory()
    files = bitstreams.list_or_build(profile, found=[load_module_manifest(MODULES / MODULE)])
    build_models(profile, progress, ())
    progress(f"simulation model of {MODULE}")
    build.build_module(MODULE)
    device = SimDevice(profile)
    trust = Trust.load(False, None)
    return open_device(files.overlay, device, SimClock(device), profile, files.overlay.parent, trust)


Say = Callable[[str], None]
SHARED = ("entitlement", "hsm_fair", "eddy_slowdown_fair", "hsm_qos", "eddy_slowdown_qos")
"""Price policies that are shown, in this order; before them, whole clusters in turns."""
FCFS = "fcfs"
PROMISED = 0.5
"""Progress that one tenant is promised."""
CORES = 6
SETTINGS = PriceSettings(quantum_s=50e-6, epoch_s=0.4e-3)
STRIDES = (1, 32)
LINES = 1 << 12
TURNS = 400
"""Between two reads of `mixed`."""
SOURCE = """
#define LINE 16
kernel void hungry(global const uint *a, global uint *out, uint steps) {
  uint at = get_global_id(0) * steps, sum = 0;
  for (uint k = 0; k < steps; k++) sum += a[((at + k) & (LINES - 1)) * LINE];
  out[get_global_id(0)] = sum;
}
kernel void mixed(global const uint *a, global uint *out, uint steps) {
  uint at = get_global_id(0) * steps, v = 1;
  for (uint k = 0; k < steps; k++) {
    v += a[((at + k) & (LINES - 1)) * LINE];
    for (uint t = 0; t < TURNS; t++) v = v * 1664525u + 1013904223u;
  }
  out[get_global_id(0)] = v;
}
kernel void steady(global const uint *a, global uint *out, uint steps) {
  uint v = get_global_id(0) + a[0];
  for (uint k = 0; k < steps; k++) v = v * 1664525u + 1013904223u;
  out[get_global_id(0)] = v;
}
"""


@dataclass(frozen=True, slots=True)
class SlowdownTenant:
    """One tenant and its kernel.

    Attributes:
        kernel: In `SOURCE`.
        does: What the kernel does, for people.
        steps: Of a work-item: a job takes about as long for each tenant.
        promised: Progress it is promised; 0 for none.
    """

    name: str
    kernel: str
    does: str
    steps: int
    promised: float = 0.0


TENANTS = (
    SlowdownTenant("hog", "hungry", "reads one line after the other", 6),
    SlowdownTenant("mila", "mixed", "computes, and reads now and then", 3, PROMISED),
    SlowdownTenant("cora", "steady", "computes and reads nothing", 600),
)
ITEMS = 4 * 24
"""Work-items of a job: 24 groups of the four that run on a core at once."""
JOBS = 40
"""More than any tenant ends while the others are measured."""
SETTLING = 1
"""Jobs of each tenant after which shares have settled, and measuring begins."""
MEASURED = 3
"""Jobs each tenant ends at least while all are measured."""


@dataclass(frozen=True, slots=True)
class SlowdownReport:
    """What `eddy demo --slowdown` found.

    Attributes:
        alone: Jobs a board second of each tenant by itself on all cores.
        phases: In the order they were played.
        verified: Whether every output that was looked at is right.
    """

    alone: Mapping[str, float]
    phases: tuple[SharedPhase, ...]
    verified: bool
    picture: Path

    def to_json(self) -> dict[str, Any]:
        """What `eddy demo --slowdown --json` prints."""
        return {
            "tenants": [{"name": t.name, "does": t.does, "promised": t.promised or None} for t in TENANTS],
            "jobs_per_s_alone": dict(self.alone),
            "policies": [phase.to_json() for phase in self.phases],
            "verified": self.verified,
            "picture": str(self.picture),
        }


def run(data: Path, out: Path, say: Say, progress: Say) -> SlowdownReport:
    """Calibrate the board, serve it, play every phase, draw the picture.

    Args:
        data: For the servers' stores; nothing in it is needed afterwards.
        progress: Told how far the building is.
    """
    say("building the simulated board: one cluster of six small cores, and a memory they can fill")
    board = open_slow_memory(progress)
    say("calibrating its memory: kernels alone on every core")
    found = calibrate(board, load_catalogue(MODULES).modules, BYTES_PER_S, say, STRIDES)
    board.release()
    file = data / calibration.FILE
    calibration.save(found, file)
    with _Session(data / "shared", "entitlement", file, progress) as shared:
        alone = {}
        for tenant in TENANTS:
            alone[tenant.name] = shared.rates([tenant])[tenant.name]
            say(f"{tenant.name} alone {tenant.does}: {alone[tenant.name]:.0f} jobs a board second")
        phases = []
        for policy in SHARED:
            shared.switch(policy)
            phases.append(_phase(shared, policy, alone, say))
        right = shared.verified
    with _Session(data / "whole", "whole", None, progress) as whole:
        phases.insert(0, _phase(whole, FCFS, alone, say))
        right = right and whole.verified
    picture = out / "slowdown.png"
    draw(phases, {t.name: t.does for t in TENANTS}, {t.name: t.promised for t in TENANTS}, picture)
    return SlowdownReport(alone, tuple(phases), right, picture)


def _phase(session: _Session, policy: str, alone: Mapping[str, float], say: Say) -> SharedPhase:
    before = session.last_epochs()
    rates = session.rates(TENANTS)
    found = SharedPhase(policy, {name: rates[name] / alone[name] for name in rates}, session.epochs_after(before))
    told = ", ".join(f"{name} {100 * reached:.0f} %" for name, reached in found.progress.items())
    say(f"{policy}: {told} of their speed alone; fairness {fairness(list(found.progress.values())):.2f}")
    return found


class _Session:
    """A server on the board, and the tenants' clients.

    Args:
        price: Price policy it starts with.
        file: The calibration; None where none is needed.
        progress: Told what is being built.
    """

    def __init__(self, data: Path, price: str, file: Path | None, progress: Say) -> None:
        self._settings = ServerSettings(
            *("rtl", "slowdown", "eddy", data, MODULES),
            port=0,
            price=price,
            price_settings=SETTINGS,
            calibration=file,
            unchecked_modules="allow",  # a cluster for this board alone, which checks its results itself
        )
        self._progress, self._held, self.verified = progress, ExitStack(), True
        self._price = price != "whole"

    def __enter__(self) -> _Session:
        with ExitStack() as opening:
            server = Server(self._settings, board=open_slow_memory(self._progress))
            opening.enter_context(server.background())
            self._operator = opening.enter_context(Client(server.url, server.key_file.read_text().strip()))
            self._clients = {}
            for tenant in TENANTS:
                made = self._operator.add_tenant(tenant.name)
                if tenant.promised:
                    self._operator.change_tenant(tenant.name, min_progress=tenant.promised)
                self._clients[tenant.name] = opening.enter_context(Client(server.url, made["key"]))
            self._held = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def switch(self, policy: str) -> None:
        """Put another price policy in force."""
        self._operator.set_price_policy(policy)

    def rates(self, tenants: Sequence[SlowdownTenant]) -> dict[str, float]:
        """Jobs a board second of each tenant, all of them at work from before the first to after the last measured."""
        queues = {tenant.name: _Queue(self._clients[tenant.name], tenant) for tenant in tenants}
        for _ in range(JOBS):  # In turns, as people would: whoever serves in order then serves in turns.
            for queue in queues.values():
                queue.submit()
        while any(queue.ended() < SETTLING + MEASURED for queue in queues.values()):
            time.sleep(0.2)
        # Whoever ends its jobs sooner goes on beside the others; all are counted over the same time.
        ends = {name: queue.ends_s() for name, queue in queues.items()}
        first, last = max(each[SETTLING - 1] for each in ends.values()), min(each[-1] for each in ends.values())
        for queue in queues.values():
            queue.stop()
            self.verified = self.verified and queue.is_right()
        return {name: _rate(each, first, last) for name, each in ends.items()}

    def last_epochs(self) -> dict[str, int]:
        """The last epoch each tenant was shown."""
        return {name: max((e["epoch"] for e in self._history(name, -1)), default=-1) for name in self._clients}

    def epochs_after(self, before: Mapping[str, int]) -> dict[str, list[Mapping[str, Any]]]:
        """What each tenant is shown of later epochs."""
        return {name: self._history(name, before[name]) for name in self._clients}

    def _history(self, name: str, after: int) -> list[Mapping[str, Any]]:
        if not self._price:
            return []
        found: list[Mapping[str, Any]] = self._clients[name].transport.json(
            "GET", "/v1/market/history", params={"after": after, "limit": 4096}
        )["epochs"]
        return found


class _Queue:
    """A tenant's jobs in a phase: so many that it always has one that waits."""

    def __init__(self, client: Client, tenant: SlowdownTenant) -> None:
        self._client, self._tenant, self._jobs = client, tenant, list[Any]()
        self._array = np.arange(LINES * 16, dtype="u4")
        self._kernel = client.kernel(SOURCE, tenant.kernel, {"LINES": LINES, "TURNS": f"{TURNS}u"})

    def submit(self) -> None:
        """Submit another."""
        out = np.zeros(ITEMS, "u4")
        self._jobs.append(self._kernel.launch(ITEMS, self._array, out, self._tenant.steps, local_size=4))

    def ended(self) -> int:
        """How many have ended.

        Raises:
            BoardFault: One failed.
        """
        for job in self._jobs:
            if job.state == "failed":
                raise BoardFault(f"a job of {self._tenant.name} failed: {job.data['error']}", cause="job-failed")
        found = [job for job in self._jobs if job.state == "succeeded"]
        for job in self._jobs[len(found) : len(found) + 2]:
            job.refresh()
        return sum(job.state == "succeeded" for job in self._jobs)

    def ends_s(self) -> list[float]:
        """Board times at which jobs ended, in order."""
        return sorted(job.data["ended_s"] for job in self._jobs if job.state == "succeeded")

    def is_right(self) -> bool:
        """Whether the last output is what numpy computes."""
        last = max((job for job in self._jobs if job.state == "succeeded"), key=lambda job: job.data["ended_s"])
        out = np.frombuffer(self._client.transport.request("GET", last.data["outputs"]["out"]).content, "u4")
        return np.array_equal(out, expected(self._tenant, self._array))

    def stop(self) -> None:
        """Cancel what is left, and wait until nothing of it runs."""
        left = [job for job in self._jobs if job.refresh().state not in ("succeeded", "failed", "cancelled")]
        for job in reversed(left):
            with suppress(Conflict):  # It ended meanwhile.
                job.cancel()
        for job in left:
            while job.refresh().state not in ("succeeded", "failed", "cancelled"):
                time.sleep(0.05)


def _rate(ends_s: Sequence[float], first_s: float, last_s: float) -> float:
    """Jobs a second between two times, parts of jobs counted, the ends being of jobs of one length."""
    return float(np.interp(last_s, ends_s, range(len(ends_s))) - np.interp(first_s, ends_s, range(len(ends_s)))) / (
        last_s - first_s
    )


def expected(tenant: SlowdownTenant, array: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, Any]:
    """What a tenant's kernel leaves in `out`, in numpy; wraps as 32-bit integers do."""
    item = np.arange(ITEMS, dtype=np.uint64)
    value = {"hungry": 0 * item, "mixed": 0 * item + 1, "steady": item + int(array[0])}[tenant.kernel]
    for step in range(tenant.steps):
        if tenant.kernel != "steady":
            value = value + array[((item * tenant.steps + step) % LINES) * 16]
        for _ in range({"hungry": 0, "mixed": TURNS, "steady": 1}[tenant.kernel]):
            value = (value * 1664525 + 1013904223) % (1 << 32)
    return (value % (1 << 32)).astype("u4")
