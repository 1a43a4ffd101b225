# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's decision over many boards in virtual time: what it costs, and how busy it keeps them.

    python tools/pool_scale.py plan  --boards 1500 --jobs 1000
    python tools/pool_scale.py batch --boards 20 --jobs 10000
    python tools/pool_scale.py day   --boards 10000 --jobs-a-day 10000000 --minutes 30 --shards 4 --heads 4

`plan` times one decision for jobs that have just arrived, in processor time of this process (least of several), and
says how far the plan may be from the best there is. `batch` runs jobs to their end: records, their files, estimates,
decision and parts are the code of a live pool; boards, links and the store are numbers. A head is one processor that
does one thing after another: the leader decides, which takes the processor time that it took here, and places; a
commit goes to the head that is free first. What these two take is given. So boards wait for heads that have too much
to do. `day` has jobs arrive at random, at one rate, and pools beside each other, each with its own heads and an equal
part of the boards, each tenant in one of them. There heads also take submissions, read every change of every record,
and hear each board once a second (`make bench ARGS=pool_boards`).
"""

from __future__ import annotations

import argparse
import gc
import heapq
import itertools
import json
import random
import resource
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eddy.policy.place import METHODS
from eddy.pool.agent.runner import PART_S
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.leader import gather_s
from eddy.pool.placement.placement import PoolView, decide, instance_of, next_planned
from eddy.pool.records.records import JobPart, PoolBoard, PoolJob

WORKS, KINDS, INPUTS = 12, 5, 1000


class World:
    """Boards of five kinds and jobs of twelve applications.

    Args:
        width: Jobs a board runs at once.
        job_s: A job's mean time on a mean board, seconds.
        size_bytes: Of a job's input.
    """

    def __init__(self, boards: int, jobs: int, width: int, job_s: float, size_bytes: int, seed: int) -> None:
        chance = random.Random(seed)
        least_s, most_s = job_s / 16, job_s / 4
        self.works = works = tuple(f"work-{i}" for i in range(WORKS))
        self.chance, self.size_bytes = chance, size_bytes
        self.item_s = {(work, f"kind-{k}"): chance.uniform(least_s, most_s) for work in works for k in range(KINDS)}
        self.boards = [
            PoolBoard(f"b{i:05}", f"kind-{i % KINDS}", width, 4, works, True, "s", link_bps=1e9) for i in range(boards)
        ]
        self.jobs = {
            n: PoolJob(n, f"t{n % 10}", self._request(chance.choice(works), chance.randint(1, 15), n), 0.0)
            for n in range(1, jobs + 1)
        }
        self.sizes = {(job.tenant, sha): size_bytes for job in self.jobs.values() for sha in job.blobs}
        self.estimates = Estimates()

    def job(self, number: int, tenant: str, at_s: float) -> PoolJob:
        """A further one."""
        request = self._request(self.chance.choice(self.works), self.chance.randint(1, 15), number % INPUTS)
        self.sizes[tenant, f"sha-{number % INPUTS}"] = self.size_bytes
        return PoolJob(number, tenant, request, at_s)

    @staticmethod
    def _request(work: str, items: int, number: int) -> dict[str, Any]:
        return {"application": work, "batch": items, "inputs": {"x": [f"sha-{number}"]}}

    def know(self) -> None:
        """Have all times be known."""
        for (work, kind), item_s in self.item_s.items():
            parts = tuple(JobPart(i, 1, {}, kind, 1, 0.0, item_s) for i in range(3))
            self.estimates.learn(PoolJob(0, "t", self._request(work, 3, 0), 0.0, parts=parts), {kind: kind})
            self.estimates.seen.clear()

    def view(self, waiting: list[PoolJob], given: list[PoolJob]) -> PoolView:
        """What the head sees."""
        return PoolView(waiting, given, self.boards, self.estimates, self.sizes, {}, 1e11)


def plan(world: World, policy: str, runs: int) -> dict[str, Any]:
    """One decision for everything."""
    world.know()
    view = world.view([*world.jobs.values()], [])
    took, gives = [], 0
    for _ in range(runs):
        began = time.process_time()
        gives = len(decide(view, METHODS[policy]))
        took.append(time.process_time() - began)
    placement = METHODS[policy](instance_of(view, view.waiting, view.boards))
    return {
        "decision_ms": round(1e3 * min(took), 1),
        "worst_ms": round(1e3 * max(took), 1),
        "over_bound": placement.makespan_s / placement.lower_bound_s - 1,
        "given_at_once": gives,
    }


class Batch:
    """Jobs run to their end, in virtual time.

    Args:
        place_s: Time of the head for a placement.
        commit_s: The same for a part's commit; no more than one part of a job waits for it.
        heads: How many; the first leads.
    """

    def __init__(self, world: World, policy: str, place_s: float, commit_s: float, heads: int = 1) -> None:
        self.world, self.policy, self.place_s, self.commit_s = world, policy, place_s, commit_s
        self.jobs = OpenJobs(world.jobs.values())
        self.queues: dict[str, deque[int]] = {board.name: deque() for board in world.boards}
        self.free = {board.name: board.width for board in world.boards}
        self.kinds = {board.name: board.kind for board in world.boards}
        self.now_s = self.busy_s = self.planning_s = 0.0
        self.heads_s, self.heads_free_s = [0.0] * heads, [0.0] * heads
        self.last_s = 0.0
        self.decisions = self.ended = 0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers = itertools.count()
        self.computed, self.committing, self.waits = dict[int, int](), set[int](), dict[int, JobPart]()
        self.planned = False

    def at(self, when_s: float, what: Callable[[], None]) -> None:
        """Have something happen."""
        heapq.heappush(self.events, (when_s, next(self.numbers), what))

    def head(self, takes_s: float, which: int = 0) -> float:
        """Have a head do something; answers when it has."""
        self.heads_s[which] += takes_s
        self.heads_free_s[which] = max(self.heads_free_s[which], self.now_s) + takes_s
        return self.heads_free_s[which]

    def followed(self) -> None:
        """A record was changed; `Day` has every head read it."""

    def changed(self) -> None:
        """Have the head decide, once it has gathered what arrives."""
        if not self.planned and len(self.jobs):
            self.planned = True
            self.at(max(self.now_s + gather_s(self.last_s), self.heads_free_s[0]), self.decide)

    def decide(self) -> None:
        """One decision, and the placements it makes one after another."""
        began = time.process_time()
        view = self.world.view([], self.jobs.jobs_on_boards)
        view = replace(view, waiting=next_planned(view, self.jobs.in_turn))
        gives = decide(view, METHODS[self.policy])
        took_s = time.process_time() - began
        self.planning_s += took_s
        self.last_s = took_s
        self.decisions += 1
        self.head(took_s)
        for give in gives:
            when_s = self.head(self.place_s)
            job = self.jobs[give.job].place_on(give.board, give.bps, give.why)
            self.jobs.add_record(job)
            self.followed()
            sent_s = 8 * sum(self.world.sizes[job.tenant, sha] for sha in job.blobs) / 1e9
            self.at(when_s + sent_s, lambda job=job: self.arrived(job))  # type: ignore[misc]
        self.planned = False
        if gives:
            self.changed()

    def arrived(self, job: PoolJob) -> None:
        """A job's inputs are on its board."""
        self.queues[job.board].append(job.id)
        self.begin(job.board)

    def begin(self, board: str) -> None:
        """Start what there is room for."""
        while self.free[board] and self.queues[board]:
            self.free[board] -= 1
            number = self.queues[board].popleft()
            self.jobs.add_record(self.jobs[number].start(self.jobs[number].token, self.now_s))
            self.followed()
            self.computed[number] = 0
            self.part(number, 1)

    def part(self, number: int, items: int) -> None:
        """The next part of a job."""
        job, first = self.jobs[number], self.computed[number]
        items = min(items, job.batch - first)
        took_s = items * self.world.item_s[job.work, self.kinds[job.board]]
        self.busy_s += took_s
        self.at(
            self.now_s + took_s, lambda: self.ends(number, JobPart(first, items, {}, job.board, job.token, 0.0, took_s))
        )

    def ends(self, number: int, part: JobPart) -> None:
        """A part has been computed; it is committed once the part before it is."""
        self.computed[number] += part.items
        if number in self.committing:
            self.waits[number] = part
        else:
            self.commit(number, part)

    def commit(self, number: int, part: JobPart) -> None:
        """Have a head commit a part; its accelerator goes on with the next, or with another job."""
        job = self.jobs[number]
        self.committing.add(number)
        free = self.heads_free_s.index(min(self.heads_free_s))
        self.at(self.head(self.commit_s, free), lambda: self.committed(number, part))
        if self.computed[number] < job.batch:
            self.part(number, 2 * part.items if part.ended_unix_s < PART_S else part.items)
        else:
            self.free[job.board] += 1
            self.begin(job.board)

    def committed(self, number: int, part: JobPart) -> None:
        """A part counts."""
        self.committing.discard(number)
        job = self.jobs[number].commit_part(part)
        self.jobs.add_record(job)
        self.followed()
        self.world.estimates.learn(job, self.kinds)
        if number in self.waits:
            self.commit(number, self.waits.pop(number))
        elif job.is_ended:
            del self.computed[number]
            self.ended += 1
            self.changed()

    def run(self) -> dict[str, Any]:
        """All of them."""
        began = time.process_time()
        self.changed()
        while self.events:
            self.now_s, _, what = heapq.heappop(self.events)
            what()
        places = sum(board.width for board in self.world.boards)
        return {
            "ended": self.ended,
            "makespan_s": round(self.now_s, 1),
            "busy": round(self.busy_s / (places * self.now_s), 4),
            "decisions": self.decisions,
            "decision_ms": round(1e3 * self.planning_s / max(self.decisions, 1), 1),
            "leader_busy": round(self.heads_s[0] / self.now_s, 3),
            "heads_busy": round(sum(self.heads_s) / len(self.heads_s) / self.now_s, 3),
            "leader_decides": round(self.planning_s / self.now_s, 3),
            "jobs_per_s": round(self.ended / self.now_s, 1),
            "processor_s": round(time.process_time() - began, 1),
        }


class Day(Batch):
    """A pool whose jobs arrive at random.

    Args:
        world: Boards, and how jobs are.
        tenants: Those of this pool, by what each submits a second.
        minutes: For how long, of virtual time; waits count from a third of it on.
        loads: What heads take for what is not in a `Batch`.
        more: See `Batch`.
    """

    def __init__(
        self, world: World, tenants: Mapping[str, float], minutes: float, loads: HeadLoads, *more: Any
    ) -> None:
        super().__init__(world, *more)
        self.tenants, self.loads, self.end_s = tenants, loads, 60.0 * minutes
        self.rate, self.chance = sum(tenants.values()), random.Random(len(world.boards))
        self.submitted, self.waited_s = 0, list[float]()
        self.left = 1.0 - len(world.boards) * loads.lease_s
        if self.left <= 0.0:
            raise SystemExit(f"{len(world.boards)} boards take all of a head")

    def head(self, takes_s: float, which: int = 0) -> float:
        """The same, of what leases leave of a head."""
        return super().head(takes_s / self.left, which)

    def followed(self) -> None:
        """Every head reads the change."""
        for which in range(len(self.heads_s)):
            self.head(self.loads.follow_s, which)

    def arrives(self) -> None:
        """A submission; a head takes it, and the next comes."""
        self.submitted += 1
        tenant = self.chance.choices(list(self.tenants), list(self.tenants.values()))[0]
        job = self.world.job(self.submitted, tenant, self.now_s)
        free = self.heads_free_s.index(min(self.heads_free_s))
        self.at(self.head(self.loads.submit_s, free), lambda: self.accepted(job))
        if (when_s := self.now_s + self.chance.expovariate(self.rate)) < self.end_s:
            self.at(when_s, self.arrives)

    def accepted(self, job: PoolJob) -> None:
        """A job is in its pool."""
        self.jobs.add_record(job)
        self.followed()
        self.changed()

    def part(self, number: int, items: int) -> None:
        """The same; the first part ends the wait."""
        job = self.jobs[number]
        if not self.computed[number] and job.submitted_unix_s > self.end_s / 3:
            self.waited_s.append(self.now_s - job.submitted_unix_s)
        super().part(number, items)

    def run(self) -> dict[str, Any]:
        """Until the time is over; what has not ended by then is left."""
        began = time.process_time()
        self.world.know()
        self.arrives()
        while self.events and self.now_s < self.end_s:
            self.now_s, _, what = heapq.heappop(self.events)
            what()
        return {
            "boards": len(self.world.boards),
            "submitted_per_s": self.submitted / self.end_s,
            "ended_per_s": self.ended / self.end_s,
            "busy": self.busy_s / (sum(board.width for board in self.world.boards) * self.end_s),
            "leader_busy": 1.0 - self.left + self.left * min(self.heads_s[0] / self.end_s, 1.0),
            "heads_busy": 1.0 - self.left + self.left * min(sum(self.heads_s) / len(self.heads_s) / self.end_s, 1.0),
            "decision_ms": 1e3 * self.planning_s / max(self.decisions, 1),
            "waiting": len(self.jobs) - len(self.jobs.jobs_on_boards),
            "processor_s": time.process_time() - began,
        }


@dataclass(frozen=True)
class HeadLoads:
    """What a head takes, seconds of processor time.

    Attributes:
        submit_s: For a submission.
        follow_s: For a change of a record that it reads.
        lease_s: For a second of a board that renews its lease.
    """

    submit_s: float
    follow_s: float
    lease_s: float


def shards_of(tenants: int, shards: int, jobs_per_s: float) -> list[dict[str, float]]:
    """Tenants of each pool, with jobs a second: the n-th largest submits 1/n of the largest, and each, from the largest
    on, goes where least is submitted."""
    parts = [1.0 / number for number in range(1, tenants + 1)]
    found: list[dict[str, float]] = [{} for _ in range(shards)]
    for number, part in enumerate(parts):
        least = min(found, key=lambda each: sum(each.values()))
        least[f"t{number}"] = jobs_per_s * part / sum(parts)
    return found


def day(given: argparse.Namespace) -> dict[str, Any]:
    """Pools beside each other, one after the other here."""
    loads = HeadLoads(given.submit_s, given.follow_s, given.lease_s)
    rows, waited_s = [], list[float]()
    for tenants in shards_of(given.tenants, given.shards, given.jobs_a_day / 86_400.0):
        world = World(given.boards // given.shards, 0, given.width, given.job_s, given.size_bytes, given.seed)
        one = Day(world, tenants, given.minutes, loads, given.policy, given.place_s, given.commit_s, given.heads)
        rows.append(one.run())
        waited_s += one.waited_s
    waited_s.sort()
    means = {name: sum(row[name] for row in rows) / len(rows) for name in ("busy", "decision_ms")}
    return {
        **{
            name: sum(row[name] for row in rows)
            for name in ("submitted_per_s", "ended_per_s", "waiting", "processor_s")
        },
        **means,
        **{
            f"most_{name}": max(row[name] for row in rows)
            for name in ("submitted_per_s", "leader_busy", "heads_busy", "busy")
        },
        **{f"wait_p{part}_s": waited_s[int(part / 100 * len(waited_s))] if waited_s else None for part in (50, 99)},
    }


def main() -> int:
    """Print what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("plan", "batch", "day"))
    parser.add_argument("--boards", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--width", type=int, default=1)
    parser.add_argument("--job-s", type=float, default=4.0)
    parser.add_argument("--size-bytes", type=int, default=100_000)
    parser.add_argument("--policy", choices=sorted(METHODS), default="prompt")
    parser.add_argument("--place-s", type=float, default=0.004, help="what the head takes for a placement")
    parser.add_argument("--commit-s", type=float, default=0.008, help="what the head takes for a commit")
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument(
        "--shards", type=int, default=1, help="pools beside each other, with their own heads and boards"
    )
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--jobs-a-day", type=float, default=1e7)
    parser.add_argument("--minutes", type=float, default=30.0, help="of virtual time")
    parser.add_argument("--submit-s", type=float, default=0.003, help="what a head takes for a submission")
    parser.add_argument("--follow-s", type=float, default=93e-6, help="what each head takes for a change")
    parser.add_argument("--lease-s", type=float, default=47e-6, help="what each head takes for a board, each second")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    gc.disable()  # nothing here is in circles, and walking over a million jobs takes longer than running them
    if given.what == "day":
        found = {"boards": given.boards, "shards": given.shards, "heads": given.heads, **day(given)}
    else:
        world = World(given.boards, given.jobs, given.width, given.job_s, given.size_bytes, given.seed)
        if given.what == "plan":
            found = plan(world, given.policy, given.runs)
        else:
            found = Batch(world, given.policy, given.place_s, given.commit_s, given.heads).run()
        found = {"boards": given.boards, "jobs": given.jobs, **found}
    found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps(
            {name: round(each, 4) if isinstance(each, float) else each for name, each in found.items()}, indent=2
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
