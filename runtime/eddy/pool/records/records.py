# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the pool keeps of a job, as values: what was asked, where it is, which parts of it are committed.

A job is cut into *parts*, ranges of its items. A part's outputs are committed once, by an update of the job's record
that succeeds only on the revision it was made from, and only under the *token* of the placement in force. A board whose
job was placed elsewhere holds an older token, so nothing it says counts any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eddy.core.board_constraints import COMPUTING
from eddy.core.errors import Conflict
from eddy.core.submission_options import ArrayPlace, Predecessor

QUEUED, PLACED, RUNNING = "queued", "placed", "running"
SUCCEEDED, FAILED, CANCELLED = "succeeded", "failed", "cancelled"
KERNEL = "kernel:"
"""What work begins with that is a kernel; no application is named so."""
FINAL = (SUCCEEDED, FAILED, CANCELLED)
AHEAD = 1
"""Jobs a board gets beyond those it runs, so that their inputs are sent while others run."""
GUESTS = 1
"""Jobs that a board runs beside its width, each of a tenant that has none on any board, so that nobody waits for the
end of others' jobs: the board shares its slots and cores between tenants by the item."""
GUEST = "guest"
"""What a placement says in place of a policy's name, where a job is one."""


class JobFenced(Conflict):
    """The job was placed elsewhere, or has ended: what this board has of it does not count."""

    code = "placed-elsewhere"


@dataclass(frozen=True, slots=True)
class JobPart:
    """A committed range of items.

    Attributes:
        first: Its first item.
        outputs: Blob (sha256) by output, all items end to end.
        token: Under which placement.
        started_unix_s: The same, less the time its board took for it.
        ended_unix_s: Wall time of its commit, of the head that committed it.
        computed: Whether the board computed, or modelled times alone.
        sent_bytes: Inputs that had to be sent for it.
        unchecked: Modules it ran on whose build has no check on record.
    """

    first: int
    items: int
    outputs: Mapping[str, str]
    board: str
    token: int
    started_unix_s: float
    ended_unix_s: float
    computed: bool = True
    sent_bytes: int = 0
    unchecked: tuple[str, ...] = ()

    def repeats(self, kept: JobPart) -> bool:
        """Whether this is a part that was committed before, said again."""
        if self.first != kept.first:
            return False
        same = replace(kept, started_unix_s=self.started_unix_s, ended_unix_s=self.ended_unix_s)
        return self == same


@dataclass(frozen=True, slots=True)
class PoolJob:
    """A job of the pool.

    Attributes:
        id: Its number.
        request: The submission, as `POST /v1/jobs` takes it.
        submitted_unix_s: Wall time of acceptance.
        state: One of the states above.
        board: Where it is placed; "" while it is not.
        token: Grows with every placement.
        bps: Rate at which its inputs may be sent, bits per second; 0 for no bound.
        parts: What is committed, in order of items, without gaps.
        started_unix_s: When a board first took it up.
        cancel_asked_unix_s: When its end was asked for.
        moves: Boards it was taken from, and why.
        why: What its last placement was decided on.
        kernel: What the board said of a kernel.
        array: Its place in the array it was submitted with; None where it was submitted alone.
        collected_unix_s: When its outputs were removed.
    """

    id: int
    tenant: str
    request: Mapping[str, Any]
    submitted_unix_s: float
    state: str = QUEUED
    board: str = ""
    token: int = 0
    bps: float = 0.0
    parts: tuple[JobPart, ...] = ()
    error: Mapping[str, Any] | None = None
    started_unix_s: float | None = None
    ended_unix_s: float | None = None
    cancel_asked_unix_s: float | None = None
    moves: tuple[Mapping[str, Any], ...] = ()
    why: Mapping[str, Any] = field(default_factory=dict)
    kernel: Mapping[str, Any] | None = None
    array: ArrayPlace | None = None
    collected_unix_s: float | None = None

    @property
    def work(self) -> str:
        """What it runs: its application, or "kernel:" and the kernel's name."""
        kernel = self.request.get("kernel")
        return f"{KERNEL}{kernel['kernel']}" if kernel else str(self.request["application"])

    @property
    def timed(self) -> str:
        """What its times are learned and told by: its work, and whose it is where that is a kernel. Names of kernels
        are tenants' own: what one runs says nothing to another who names one so, and nothing of it is right there."""
        kernel = self.request.get("kernel")
        return f"{KERNEL}{self.tenant}/{kernel['kernel']}" if kernel else self.work

    @property
    def batch(self) -> int:
        """Its items; a kernel is one."""
        return 1 if self.request.get("kernel") else int(self.request.get("batch", 1))

    @property
    def after(self) -> tuple[Predecessor, ...]:
        """What it waits for before a board is given it: `after` has jobs that must succeed, as earlier releases read
        it, and `waits` whatever else."""
        found = (*self.request.get("after", ()), *self.request.get("waits", ()))
        return tuple(map(Predecessor.from_json, found))

    @property
    def max_running(self) -> int | None:
        """Jobs of its array that boards may have at once; None for any number."""
        return self.request.get("max_running")

    @property
    def deadline_s(self) -> float | None:
        """Wall seconds after arrival by which it should end, if any."""
        return self.request.get("deadline_s")

    @property
    def late_end(self) -> bool:
        """Whether it is ended once its deadline has passed."""
        return self.request.get("late") == "end"

    @property
    def board_kind(self) -> str:
        """Which boards may have it. Outputs of zeros are for those who ask for them: where nothing is said, and in
        records of earlier releases, boards that compute."""
        return self.request.get("board_kind") or COMPUTING

    @property
    def done(self) -> int:
        """Items committed."""
        return sum(part.items for part in self.parts)

    @property
    def last_board(self) -> str:
        """The board that has it, or had it last; "" where none ever had."""
        return self.board or (str(self.moves[-1]["from"]) if self.moves else "")

    @property
    def is_guest(self) -> bool:
        """Whether its board runs it beside its width (`GUESTS`)."""
        return self.why.get("policy") == GUEST

    @property
    def is_ended(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.state in FINAL

    @property
    def blobs(self) -> tuple[str, ...]:
        """Every blob its submission names, once each."""
        named: dict[str, None] = {}
        for shas in self.request.get("inputs", {}).values():
            named.update(dict.fromkeys(shas))
        named.update(dict.fromkeys(self.request.get("constants", {}).values()))
        for argument in (self.request.get("kernel") or {}).get("arguments", ()):
            if "buffer" in argument:
                named[argument["buffer"]] = None
        return tuple(named)

    @property
    def array_bytes(self) -> int:
        """Bytes of the arrays that a kernel is given: it needs more memory than that."""
        found = 0
        for argument in (self.request.get("kernel") or {}).get("arguments", ()):
            if "buffer" in argument:
                found += int(argument["dtype"][2:]) * math.prod(argument["shape"])
        return found

    def place_on(self, board: str, bps: float, why: Mapping[str, Any]) -> PoolJob:
        """The same, given to a board under a new token.

        Raises:
            Fenced: It does not wait for a board.
        """
        if self.state != QUEUED:
            raise JobFenced(f"Job {self.id} is {self.state}; only a queued job is placed.", job=self.id)
        return replace(self, state=PLACED, board=board, token=self.token + 1, bps=bps, why=why)

    def recall(self, because: str, at_unix_s: float) -> PoolJob:
        """The same, waiting for a board again; what is committed stays, and the token grows.

        Raises:
            Fenced: It has ended, or waits already.
        """
        if self.state not in (PLACED, RUNNING):
            raise JobFenced(f"Job {self.id} is {self.state}; it is on no board.", job=self.id)
        move = {"from": self.board, "because": because, "at_unix_s": at_unix_s, "done": self.done}
        return replace(self, state=QUEUED, board="", token=self.token + 1, moves=(*self.moves, move))

    def return_refused(self, token: int, because: str, at_unix_s: float) -> PoolJob:
        """The same, waiting for a board again because the one it is on cannot run it.

        Raises:
            Fenced: The token is not the one in force.
        """
        self._check(token)
        return self.recall(because, at_unix_s)

    def start(self, token: int, at_unix_s: float) -> PoolJob:
        """The same, running on the board it was placed on.

        Raises:
            Fenced: The token is not the one in force.
        """
        self._check(token)
        started = at_unix_s if self.started_unix_s is None else self.started_unix_s
        return replace(self, state=RUNNING, started_unix_s=started)

    def commit_part(self, part: JobPart) -> PoolJob:
        """The same with a part more; it has succeeded where that was the last.

        Raises:
            Fenced: The token is not the one in force, or the part is not the next.
        """
        if any(part.repeats(kept) for kept in self.parts):  # it was committed, and the answer was lost
            return self
        self._check(part.token)
        if part.first != self.done or part.items < 1 or part.first + part.items > self.batch:
            message = f"Items {part.first} to {part.first + part.items - 1} of job {self.id} are not the next ones."
            raise JobFenced(message, job=self.id, done=self.done)
        whole = part.first + part.items == self.batch
        return replace(
            self,
            parts=(*self.parts, part),
            state=SUCCEEDED if whole else RUNNING,
            ended_unix_s=part.ended_unix_s if whole else None,
        )

    def failed(self, token: int, error: Mapping[str, Any], at_unix_s: float) -> PoolJob:
        """The same, ended without success.

        Raises:
            Fenced: The token is not the one in force.
        """
        self._check(token)
        return replace(self, state=FAILED, error=error, ended_unix_s=at_unix_s)

    def discard_outputs(self, at_unix_s: float) -> PoolJob:
        """The same, without its outputs.

        Raises:
            Conflict: It has not ended.
        """
        if not self.is_ended:
            raise Conflict(f"Job {self.id} is {self.state}: it has outputs once it has ended.", job=self.id)
        return self if self.collected_unix_s is not None else replace(self, collected_unix_s=at_unix_s)

    @property
    def output_blobs(self) -> frozenset[str]:
        """Blobs that somebody may fetch as its outputs."""
        if self.state != SUCCEEDED or self.collected_unix_s is not None:
            return frozenset()
        return frozenset(sha for part in self.parts for sha in part.outputs.values())

    def stop(self, error: Mapping[str, Any], at_unix_s: float, state: str = FAILED) -> PoolJob:
        """The same, ended as failed, or as cancelled, for a reason that is not its board's; a board that runs it drops
        it.

        Raises:
            Fenced: It has ended already.
        """
        if self.is_ended:
            raise JobFenced(f"Job {self.id} has ended already: {self.state}.", job=self.id)
        return replace(self, state=state, token=self.token + 1, error=error, ended_unix_s=at_unix_s)

    def cancelled(self, at_unix_s: float) -> PoolJob:
        """The same, ended because that was asked for.

        Raises:
            Conflict: It has ended already.
        """
        if self.is_ended:
            raise Conflict(f"Job {self.id} has ended already: {self.state}.", job=self.id)
        return replace(
            self, state=CANCELLED, token=self.token + 1, cancel_asked_unix_s=at_unix_s, ended_unix_s=at_unix_s
        )

    def _check(self, token: int) -> None:
        if token != self.token or self.state not in (PLACED, RUNNING):
            message = f"Job {self.id} is {self.state} under token {self.token}; token {token} does not count."
            raise JobFenced(message, job=self.id, token=self.token)


@dataclass(frozen=True, slots=True)
class PoolBoard:
    """What a board says of itself.

    Attributes:
        name: Unique in the pool.
        kind: Board adapter and profile: boards of a kind take equally long.
        width: Jobs of the pool it runs at once.
        kernels: Whether it takes kernels.
        session: Changes whenever its agent starts.
        drained: Why it gets no work; "" where it does.
        modules: Modules in its slots.
        running: Jobs of the pool it works on.
        link_bps: Rate of its transfers as measured; 0 before the first.
        load: Jobs of its own and of the pool that have not ended.
        market: What it tells of its GPU cores (`LocalBoard.market`); empty where it shares none.
        memory_bytes: Of its memory, what the jobs of a tenant hold together at most; 0 where it does not say.
        guests: Jobs that it runs beside those, each of a tenant that has none else in the pool.
        computes: Whether it computes, or models times alone.
        labels: As operators set them; name to value.
        release: Of its agent; "" where it does not say.
    """

    name: str
    kind: str
    width: int
    slots: int
    applications: tuple[str, ...]
    kernels: bool
    session: str
    drained: str = ""
    modules: tuple[str, ...] = ()
    running: tuple[int, ...] = ()
    link_bps: float = 0.0
    load: int = 0
    market: Mapping[str, Any] = field(default_factory=dict)
    memory_bytes: int = 0
    guests: int = 0
    computes: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    release: str = ""

    def runs(self, job: PoolJob) -> bool:
        """Whether it can run a job."""
        return self.kernels if job.request.get("kernel") else job.work in self.applications
