# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""User sets 1 to 3 of [000] live: the hypervisor itself on the model of `de10pro`, its clusters those of Table 5.3.

Three tenants of weights 1, 4 and 1 always have kernels waiting, of each of their workloads as many: were the next one
of whichever has ended, a tenant would run more of its quick kernels under one policy than under another, and speedups
would compare what it ran, not how fast. The engine shares the cores by a price policy, as on a
board; nothing is told to it but what it measures. What a slice takes is calibrated by the kept runs on the RTL: a
work-group takes longer where its tenant runs on more cores of the cluster, as was measured on so many. What the cores
count says the F of those runs. Tables 5.4 to 5.6 fix what a user runs on which cluster; here each of its workloads may
run on any.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from eddy.board.model.model import ModelBoard
from eddy.board.port.port import BoardEvent, CoreReport, EventKind, Launch
from eddy.board.port.profile import load_profile
from eddy.core.counters import CoreCounters
from eddy.core.records import KERNEL, JobRequest
from eddy.core.tenants import TenantRecord
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.request import Buffer, KernelRequest
from eddy.host.distribution import source_tree
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.market_loop import PriceLoop, PriceSettings
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.core_partition import cluster_kinds
from eddy.hypervisor.intake.kernels import KernelLimits, KernelPlanner
from eddy.packages.catalogue import load_catalogue
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.price.view import Floats, PricePolicy
from eddy.store import Store

from eddy_studies.vayalapra.clusters import CONFIGURATIONS, Cluster
from eddy_studies.vayalapra.users import USER_SETS, WEIGHTS, fraction, speedups, throughput

PROFILE = "de10pro"
GROUP_S = 2e-5
"""Seconds a work-group takes one core of the base cluster."""
ITEMS = 8
"""Work-items of a work-group."""
GROUPS = 1_500
"""Work-groups of a kernel."""
QUANTUM_S = 1e-3
EPOCHS = 20
"""Quanta of an epoch."""
PENDING = 12
"""Kernels that a user has waiting or running."""
CYCLES = 1_000_000
"""What a slice counts: only how lanes take part in it matters."""
INTEGER = "resnet50"
"""The workload without floating point."""
USERS = ("user1", "user2", "user3")
MODULES = source_tree() / "bitstreams" / PROFILE
"""The clusters of Table 5.3."""
SOURCE = """
kernel void NAME(global TYPE *y) { y[get_group_id(0) % 16] += ONE; }
"""
"""Asks for its work-group, so that its work-groups are what was asked for, and alike, on every cluster: a board that
models time knows them only by their number."""


def module_of(cluster: Cluster) -> str:
    """The module of `bitstreams/de10pro` that is this cluster."""
    shape = cluster.shape
    return f"gpu_{shape.cores}c{shape.warps}w{shape.threads}t{'' if shape.fpu else 'x'}_{cluster.mhz}mhz"


CLUSTERS: Mapping[str, Cluster] = {module_of(c): c for clusters in CONFIGURATIONS.values() for c in clusters}


def kernel_of(workload: str) -> str:
    """What its kernel is called."""
    return workload.replace("-", "_")


WORKLOADS = {kernel_of(w): w for users in USER_SETS.values() for user in users for w in user}


def counters_of(parallel: float, lanes: int, cycles: int) -> CoreCounters:
    """What a core counts in so many cycles of which (4.3) makes this F: cycles with one lane, and with all."""
    speedup = 1 / (1 - parallel + parallel / lanes)
    whole = round(cycles * (speedup - 1) / (lanes - 1))
    return CoreCounters(cycles, cycles, cycles, (cycles - whole, *[0] * (lanes - 2), whole))


class CalibratedBoard(ModelBoard):
    """The model of `de10pro`, on which slices take what the RTL was measured to take, and count what it counted.

    Attributes:
        done_s: By owner and workload: seconds one core of the base cluster would have taken for what was done.
        owner: Whose job it is, by its number.
    """

    done_s: dict[tuple[str, str], float]
    owner: dict[str, str]
    _times: dict[str, float]
    _running: dict[str, tuple[int, Cluster, Launch]]
    _cores: dict[str, CoreReport]
    _held: dict[int, Cluster]

    @classmethod
    def made(cls) -> CalibratedBoard:
        """The board, with images of all modules of Table 5.3."""
        times: dict[str, float] = {}
        profile = load_profile(PROFILE)
        board = cls.from_profile(profile, CLUSTERS, lambda _module, item: times[item], real_memory=False)
        assert isinstance(board, cls)
        board.done_s, board.owner, board._times, board._running = {}, {}, times, {}
        board._cores, board._held = {}, {}
        return board

    def load(self, slot: int, image: str) -> None:
        """See the port."""
        super().load(slot, image)
        self._held[slot] = next(CLUSTERS[each.module] for each in self.images() if each.sha256 == image)

    def launch(self, slot: int, launch: Launch) -> None:
        """See the port."""
        cluster, workload = self._held[slot], _workload(launch)
        mine = self._whose(launch)
        beside = sum(at == slot and self._whose(other) == mine for at, _, other in self._running.values()) + 1
        slower = beside / speedups(workload, cluster)[beside]
        self._times[launch.item] = GROUP_S / throughput(workload, cluster) * slower
        super().launch(slot, launch)
        self._running[launch.item] = slot, cluster, launch

    def _whose(self, launch: Launch) -> tuple[str, str]:
        """The tenant and the workload: what shares its cores' gain."""
        assert launch.kernel is not None
        return self.owner[launch.kernel.family], launch.task

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """See the port."""
        return tuple(self._counted(event) for event in super().wait(until_s, acknowledge))

    def _counted(self, event: BoardEvent) -> BoardEvent:
        if event.item in self._running:
            _, cluster, launch = self._running.pop(event.item)
            del self._times[event.item]
            assert launch.kernel is not None
            if event.kind is EventKind.ITEM_DONE:
                whose = self.owner[launch.kernel.family], _workload(launch)
                self.done_s[whose] = self.done_s.get(whose, 0.0) + launch.kernel.groups * GROUP_S
            counted = counters_of(fraction(_workload(launch), cluster), cluster.threads, CYCLES)
            self._cores[event.item] = CoreReport(launch.kernel.cores[0], counted)
        found = self._cores.get(event.item)
        return event if found is None else dataclasses.replace(event, cores=(found,))


def _workload(launch: Launch) -> str:
    return WORKLOADS[launch.task.removeprefix("kernel:")]


@dataclass(frozen=True, slots=True, eq=False)
class LiveWindow:
    """What came of a while; n users, m clusters.

    Attributes:
        seconds: Of board time.
        done: By user and workload: what got done, in cores of the base cluster.
        had: Core-seconds over those of the window, (n, m).
        promised: Shares, averaged over the window, (n, m).
        price: Of a PE at its end, (m,).
        busy: The part of all core-seconds in which a core ran something.
    """

    seconds: float
    done: Mapping[tuple[str, str], float]
    had: Floats
    promised: Floats
    price: Floats
    busy: float

    @property
    def speedup(self) -> Floats:
        """What each got done, in cores of the base cluster, (n,)."""
        return np.array([sum(done for (who, _), done in self.done.items() if who == user) for user in USERS])

    @property
    def off(self) -> Floats:
        """What each had of all that was had, over what it was promised of all, less 1; (n,)."""
        had, promised = self.had.sum(axis=1), self.promised.sum(axis=1)
        return np.asarray(had / had.sum() / (promised / promised.sum()) - 1)


class Live:
    """Three tenants on the engine; see the module.

    Args:
        user_set: "1" to "3".
        policy: In force.
        begin: The configuration the fabric is left with.
        choices: Configurations the policy may choose from.
        quantum_s: Board seconds of a slice.
        configure_s: Board seconds between two looks at other configurations.
        groups: Work-groups of a kernel.
        compiler: With which kernels are compiled.
    """

    def __init__(
        self,
        user_set: str,
        policy: PricePolicy,
        begin: str,
        choices: Sequence[str] = (),
        quantum_s: float = QUANTUM_S,
        configure_s: float = 1.0,
        groups: int = GROUPS,
        compiler: Compiler | None = None,
    ) -> None:
        modules = load_catalogue(MODULES).modules
        profile, self.board, self.store = load_profile(PROFILE), CalibratedBoard.made(), Store(":memory:")
        weights = dict(zip(USERS, WEIGHTS, strict=True))
        for user in USERS:
            self.store.tenants.put(TenantRecord(user, key_hash=user, attributes={"weight": weights[user]}))
        settings = PriceSettings(quantum_s, epoch_s=EPOCHS * quantum_s, configure_s=configure_s)
        named = {name: profile.configurations[name] for name in {begin, *choices}}
        self.loop = PriceLoop(policy, cluster_kinds(modules), self.store.projects.weights, settings, named)
        self.loop.offers.wanted = dict(named[begin])
        planner = KernelPlanner(modules, compiler or Compiler(), KernelLimits(time_limit_s=1.0))
        self.engine = Engine(
            self.board, FirstComeFirstServed(), self.store, {}, modules, None, planner, price=self.loop
        )
        self._owner = self.board.owner
        self._work = {
            user: cycle([_request(self.store, user, kernel_of(w), groups) for w in sorted(set(own))])
            for user, own in zip(USERS, USER_SETS[user_set], strict=True)
        }
        self.engine.start()
        self._top_up()

    def _top_up(self) -> None:
        """`PENDING` kernels of every user wait or run, always, its workloads in turn."""
        there = Counter(job.spec.tenant for job in self.engine.machine.jobs.values())
        for user, work in self._work.items():
            for _ in range(PENDING - there[user]):
                self._owner[str(self.engine.intake.accept(next(work)).id)] = user
        self.engine.step()

    def until(self, at_s: float) -> None:
        """Go on to a board time."""
        enough = PENDING * len(self._work)
        while self.engine.now_s < at_s:
            self.engine.step()
            if len(self.engine.machine.jobs) < enough:
                self._top_up()

    def window(self, seconds: float) -> LiveWindow:
        """Go on for so long, the clusters staying what they are."""
        began_s, before, had = self.engine.now_s, dict(self.board.done_s), self._had()
        self.until(began_s + seconds)
        lasted_s, cores = self.engine.now_s - began_s, [account.cores for account in self._accounts()]
        share = (self._had() - had) / lasted_s
        return LiveWindow(
            lasted_s,
            {which: (done_s - before.get(which, 0.0)) / lasted_s for which, done_s in self.board.done_s.items()},
            share,
            self._promised(began_s),
            np.array([self.loop.price(slot) for slot in sorted(self.loop.accounts)]),
            float(share.sum()) / sum(map(len, cores)),
        )

    @property
    def configuration(self) -> str:
        """The name of what the fabric holds; "" while it is none with a name."""
        held = {status.slot: status.module for status in self.engine.status}
        return next((name for name, modules in load_profile(PROFILE).configurations.items() if modules == held), "")

    def _accounts(self) -> list[CoreAccount]:
        return [self.loop.accounts[slot] for slot in sorted(self.loop.accounts)]

    def _had(self) -> Floats:
        return np.array([[account.delivered_s.get(user, 0.0) for account in self._accounts()] for user in USERS])

    def _promised(self, since_s: float) -> Floats:
        """Shares of the epochs that ended since then, by how long each lasted."""
        _, history = self.loop.snapshot_epochs()
        sums, total_s = np.zeros((len(USERS), len(self.loop.accounts))), 0.0
        for epoch in reversed(history):
            assert epoch.ended_s is not None
            lasted_s = epoch.ended_s - max(epoch.at_s, since_s)
            if lasted_s <= 0:
                break
            rows = [USERS.index(tenant) for tenant in epoch.view.tenants]
            sums[rows] += lasted_s * epoch.decision.shares
            total_s += lasted_s
        return sums / max(total_s, 1e-12)


def _request(store: Store, user: str, kernel: str, groups: int) -> JobRequest:
    """A kernel of this name. What does not compute integers alone is compiled to software where there is no unit."""
    kind, one = ("uint", "1u") if WORKLOADS[kernel] == INTEGER else ("float", "1.5f")
    source = SOURCE.replace("NAME", kernel).replace("TYPE", kind).replace("ONE", one)
    data = bytes(64)
    sha256 = hashlib.sha256(data).hexdigest()
    store.blobs.put(user, sha256, data)
    arguments = (Buffer(sha256, "<u4" if kind == "uint" else "<f4", (16,)),)
    body = KernelRequest(source, kernel, (groups * ITEMS,), arguments, (ITEMS,)).to_json()
    return JobRequest(user, "", kind=KERNEL, body=body)
