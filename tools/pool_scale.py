# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's decision over many boards in virtual time: what it costs, and how busy it keeps them.

    python tools/pool_scale.py plan  --boards 1500 --jobs 1000
    python tools/pool_scale.py batch --boards 20 --jobs 10000

`plan` times one decision for jobs that have just arrived, in processor time of this process (least of several), and
says how far the plan may be from the best there is. `batch` runs jobs to their end: records, their files, estimates,
decision and parts are the code of a live pool; boards, links and the store are numbers. A head is one processor that
does one thing after another: the leader decides, which takes the processor time that it took here, and places; a
commit goes to the head that is free first. What these two take is given. So boards wait for heads that have too much
to do.
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
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from eddy.policy.place import METHODS
from eddy.pool.agent.runner import PART_S
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.leader import gather_s
from eddy.pool.placement.placement import PoolView, decide, instance_of, next_planned
from eddy.pool.records.records import JobPart, PoolBoard, PoolJob

WORKS, KINDS = 12, 5


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
        works = tuple(f"work-{i}" for i in range(WORKS))
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


def main() -> int:
    """Print what was found as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("plan", "batch"))
    parser.add_argument("--boards", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--width", type=int, default=1)
    parser.add_argument("--job-s", type=float, default=4.0)
    parser.add_argument("--size-bytes", type=int, default=100_000)
    parser.add_argument("--policy", choices=sorted(METHODS), default="prompt")
    parser.add_argument("--place-s", type=float, default=0.004, help="what the head takes for a placement")
    parser.add_argument("--commit-s", type=float, default=0.008, help="what the head takes for a commit")
    parser.add_argument("--heads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    gc.disable()  # nothing here is in circles, and walking over a million jobs takes longer than running them
    world = World(given.boards, given.jobs, given.width, given.job_s, given.size_bytes, given.seed)
    if given.what == "plan":
        found = plan(world, given.policy, given.runs)
    else:
        found = Batch(world, given.policy, given.place_s, given.commit_s, given.heads).run()
    found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"boards": given.boards, "jobs": given.jobs, **found}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
