# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs nothing was done for, in order of rank, as far as somebody asks.

Of one application and priority a job ranks before every other that is younger and has no smaller batch. So of a kind
only a few can be next: the head of each line that is older than the heads of all lines with smaller batches. Where a
rank has another reason (a long path, a deadline) the jobs concerned are looked at one by one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from typing import NamedTuple

from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.kinds import JobClass
from eddy.policy.dispatch.views.outlook import Outlook, Outlooks

Rank = Callable[[JobView, Outlook], float]
"""The rank of a job; grows with the work it has and falls with its age."""
Ranked = tuple[float, int]
"""A rank, and the id of the job that has it: the less, the sooner."""
Place = tuple[float, int, int]
"""The same, and how many of its tasks were offered a slot before."""


class SlotRequest(NamedTuple):
    """One more slot for a job, at the rank it has for that.

    Attributes:
        given: How many of its tasks were offered one before, in this decision.
        outlook: What lies before it.
        kind_queue: Who else is like it, where nothing was done for it before this decision.
    """

    rank: float
    job: JobView
    given: int
    outlook: Outlook
    kind_queue: KindQueue | None = None


class KindQueue:
    """The jobs of one kind, by rank.

    Args:
        known: What lies before its jobs.
        rank: Of a job's first slot.
        outlasts: Whether a job with this before it will end last whatever is done, so that its rank does not grow with
            its work; if one does, so does every one with a larger batch.
    """

    def __init__(self, kind: JobClass, known: Outlooks, rank: Rank, outlasts: Callable[[Outlook], bool]) -> None:
        self.kind, self._outlook, self._rank, self._outlasts = kind, known.outlook_of, rank, outlasts
        self._passed: dict[int, int] = {}
        """By batch: how many of the line are behind us."""
        self._ranks: dict[int, Ranked] = {}
        """By job, as far as somebody asked: each is compared several times."""
        self._due: list[tuple[Ranked, JobView]] | None = None
        """All of them by rank, where they have deadlines and somebody asked."""
        self.offered: SlotRequest | None = None
        """The last request that was made for one of them: it stands for the kind, earlier ones do no more."""
        self._refused: set[int] = set()
        """Tasks for which there was nothing: who asks for one of them first is left out, until somebody is served."""

    def first(self, after: Ranked | None = None) -> tuple[Ranked, JobView] | None:
        """The first job by rank of those that come after a rank, or None.

        Args:
            after: Not less than at the last call.
        """
        if self.kind.due:
            return self._next_due(after)
        best: tuple[Ranked, JobView] | None = None
        for job in self._next_of_lines(after):
            ranked = self._ranked(job)
            if (after is None or ranked > after) and (best is None or ranked < best[0]):
                best = ranked, job
        return best

    def rank_bound(self) -> float:
        """A rank that none of the kind's jobs is before; found without looking into its lines."""
        kind = self.kind
        if kind.due or self._outlasts(self._outlook(kind.largest)):
            return -inf
        return self._rank(kind.front[-1], self._outlook(kind.front[0]))

    def _next_due(self, after: Ranked | None) -> tuple[Ranked, JobView] | None:
        """The same where deadlines count: an older job may have more time."""
        if self._due is None:
            self._due = sorted([(self._ranked(job), job) for job in self.kind.every()], key=lambda entry: entry[0])
        place = 0 if after is None else bisect_right(self._due, after, key=lambda entry: entry[0])
        later = range(place, len(self._due))
        return next((self._due[place] for place in later if self._may_ask(self._due[place][1])), None)

    def _may_ask(self, job: JobView) -> bool:
        """Whether there may be something for a job: with a larger batch it may ask for another task first."""
        return not self._refused or self._outlook(job).ready[0].id not in self._refused

    def _ranked(self, job: JobView) -> Ranked:
        found = self._ranks.get(job.id)
        if found is None:
            found = self._ranks[job.id] = self._rank(job, self._outlook(job)), job.id
        return found

    def _next_of_lines(self, after: Ranked | None) -> Iterator[JobView]:
        """Those of whom one is the next."""
        kind = self.kind
        yield from kind.front if after is None else self._front(after)
        if not self._outlasts(self._outlook(kind.largest)):
            return
        for batch in reversed(tuple(kind.lines)):
            if not self._outlasts(self._outlook(kind.lines[batch].first())):
                return
            job = self._head(batch, after)
            if job is not None and self._may_ask(job):
                yield job

    def _front(self, after: Ranked) -> Iterator[JobView]:
        """As the kind's front, of those that come after a rank."""
        oldest: tuple[float, int] | None = None
        for batch, line in self.kind.lines.items():
            passed = self._passed.get(batch, 0)
            # Behind one that has been passed are younger ones only.
            if (
                passed < len(line)
                and (oldest is None or line.at(passed).age < oldest)
                and self._may_ask(line.at(passed))
            ):
                job = self._head(batch, after)
                if job is not None and (oldest is None or job.age < oldest):
                    oldest = job.age
                    yield job

    def _head(self, batch: int, after: Ranked | None) -> JobView | None:
        """The first one of a line that comes after a rank."""
        line, low = self.kind.lines[batch], self._passed.get(batch, 0)
        if after is None:
            return line.first()
        high, step = low, 1
        while high < len(line) and self._ranked(line.at(high)) <= after:
            low, high, step = high + 1, high + step, 2 * step
        high = min(high, len(line))
        while low < high:
            middle = (low + high) // 2
            if self._ranked(line.at(middle)) > after:
                high = middle
            else:
                low = middle + 1
        self._passed[batch] = low
        return line.at(low) if low < len(line) else None

    def requests_behind(self, job: JobView, limit: Place) -> Iterator[JobView]:
        """Those behind one that was offered last, in order of rank, as far as they come before a limit. Few of them are
        ranked: they differ in their age alone, which gives their order. None where batches or deadlines count.

        Args:
            job: Who was offered last.
            limit: Who comes next of all others.
        """
        place = self._passed.get(job.batch, 0)
        line = self.kind.lines.get(job.batch)
        if self.kind.due or len(self.kind.lines) > 1 or line is None or line.at(place).id != job.id:
            return
        sure, step = place, 1
        for each in islice(line.values(), place + 1, None):
            place += 1
            if place > sure:
                sure, step = min(place + step, len(line) - 1), 2 * step
                if (*self._ranked(line.at(sure)), 0) >= limit:
                    sure, step = place, 0
                    if (*self._ranked(each), 0) >= limit:
                        return
            yield each

    def requests_refused(self, task: int, after: Ranked) -> SlotRequest | None:
        """The first request after a rank of those who ask for another task than this, and those refused before."""
        self._refused.add(task)
        return self.request(after)

    def requests_again(self, after: Ranked) -> SlotRequest | None:
        """The first request after a rank, of all: somebody was served, so there may be something for them now."""
        self._refused.clear()
        return self.request(after)

    def request(self, after: Ranked | None = None) -> SlotRequest | None:
        """The same as `first`, as a request."""
        found = self.first(after)
        self.offered = None if found is None else SlotRequest(found[0][0], found[1], 0, self._outlook(found[1]), self)
        return self.offered


class LaterRequests:
    """One more slot for each of several jobs alike, made when it is their turn.

    Args:
        jobs: In order of their ranks for it.
        rank: The rank of one for it.
        given: How many of their tasks were offered one before.
        outlook: What lies before each.
    """

    def __init__(self, jobs: Sequence[JobView], rank: Callable[[JobView], float], given: int, outlook: Outlook) -> None:
        self._jobs, self._rank, self._given, self._outlook = jobs, rank, given, outlook
        self._next = 0

    def request(self) -> SlotRequest | None:
        """The first of those that are left, which it is no more then; or None."""
        if self._next == len(self._jobs):
            return None
        job = self._jobs[self._next]
        self._next += 1
        return SlotRequest(self._rank(job), job, self._given, self._outlook)


class RequestQueue:
    """Jobs in order of rank, as far as somebody asks.

    Of jobs nothing was done for, the first of each kind takes part. Where it is passed over, so would be all others of
    its kind that ask for the same task, until somebody is served: they come back then, behind the request that was
    served. Those that ask for another one, as the longest way depends on the batch, take part meanwhile.

    Args:
        requests: Of jobs that are unlike others.
        kinds: The others, by kind.
    """

    def __init__(self, requests: Iterable[SlotRequest], kinds: Iterable[KindQueue]) -> None:
        self._heap: list[tuple[float, int, int, SlotRequest | KindQueue]] = []
        self._later: dict[int, LaterRequests] = {}
        """By job whose request, as the first of those, is in the heap."""
        self._resting: set[KindQueue] = set()
        self._here: Ranked = (-inf, -1)
        for request in requests:
            self._push(request)
        # Before all of the same rank: a kind is looked into only when it may be next.
        self._heap += [(kind_queue.rank_bound(), -1, place, kind_queue) for place, kind_queue in enumerate(kinds)]
        heapify(self._heap)

    def _push(self, request: SlotRequest | None) -> None:
        if request is not None:
            heappush(self._heap, (request.rank, request.job.id, request.given, request))

    def next(self) -> SlotRequest | None:
        """The request of the least rank, or None where none is left."""
        while self._heap:
            request = heappop(self._heap)[3]
            if isinstance(request, SlotRequest):
                if request.kind_queue is not None and request.kind_queue.offered is not request:
                    continue
                self._here = max(self._here, (request.rank, request.job.id))
                if self._later and request.given:
                    self._push_later(self._later.pop(request.job.id, None))
                return request
            self._push(request.request())
        return None

    def _push_later(self, later: LaterRequests | None) -> None:
        request = None if later is None else later.request()
        if later is not None and request is not None:
            self._later[request.job.id] = later
            self._push(request)

    def run(self, request: SlotRequest, rank: float | None) -> Iterator[JobView]:
        """Those that come next, one after another, of the kind and batch of a request that will have a slot.

        Args:
            request: The last that `next` answered; `mark_served` is not told of it yet.
            rank: At which it asks for its next slot; None where it does not.
        """
        if request.kind_queue is None or request.given or not self._resting <= {request.kind_queue}:
            return
        limits: list[Place] = [] if rank is None else [(rank, request.job.id, 1)]
        limits += [self._heap[0][:3]] if self._heap else []
        yield from request.kind_queue.requests_behind(request.job, min(limits, default=(inf, 0, 0)))

    def mark_run_served(self, ranked: Ranked, later: LaterRequests | None) -> None:
        """The first of a `run` will have slots as well; `mark_served` is told of the one before them afterwards.

        Args:
            ranked: The rank of the last of them.
            later: Their next requests, if they have any.
        """
        self._here = max(self._here, ranked)
        self._push_later(later)

    def mark_passed_over(self, request: SlotRequest) -> None:
        """There was nothing for it."""
        kind_queue = request.kind_queue
        if kind_queue is not None:
            self._resting.add(kind_queue)
            self._push(kind_queue.requests_refused(request.outlook.ready[0].id, self._here))

    def mark_served(self, request: SlotRequest, rank: float | None) -> None:
        """It will have a slot; it asks for its next one at `rank`, if it has a task for it."""
        if self._resting:
            for kind_queue in self._resting - {request.kind_queue}:
                self._push(kind_queue.requests_again(self._here))
            self._resting.clear()
        if request.kind_queue is not None:
            self._push(request.kind_queue.requests_again(self._here))
        if rank is not None:
            self._push(SlotRequest(rank, request.job, request.given + 1, request.outlook))
