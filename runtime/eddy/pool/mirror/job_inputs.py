# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Inputs of jobs, asked by input: which boards were sent one, and whether a job that has not ended needs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eddy.pool.records.records import PoolJob

MOST = 200_000
"""Inputs that are remembered: those that were first sent last."""
_Blob = tuple[str, str]


class _Life:
    """A board, from the time that it had nothing."""

    __slots__ = ("board",)

    def __init__(self, board: str) -> None:
        self.board = board


class InputLocations:
    """What a head remembers of inputs on boards; what it has forgotten counts as to be sent.

    Args:
        most: Inputs that are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lives: dict[str, _Life] = {}
        self._on: dict[_Blob, tuple[_Life, ...]] = {}

    def record_sent(self, board: str, job: PoolJob) -> None:
        """A board has a job's inputs."""
        life = self._lives.setdefault(board, _Life(board))
        for sha in job.blobs:
            on = self._on.get((job.tenant, sha), ())
            if life not in on:
                self._on[job.tenant, sha] = (*(each for each in on if self._lives.get(each.board) is each), life)
        while len(self._on) > self._most:
            del self._on[next(iter(self._on))]

    def forget(self, board: str) -> None:
        """A board may have nothing any more."""
        self._lives.pop(board, None)

    def inputs_by_board(self, jobs: Iterable[PoolJob]) -> dict[str, frozenset[_Blob]]:
        """Inputs of these jobs that boards have, by board; (tenant, sha256)."""
        found: dict[str, set[_Blob]] = {}
        for blob in {(job.tenant, sha) for job in jobs for sha in job.blobs}:
            for life in self._on.get(blob, ()):
                if self._lives.get(life.board) is life:
                    found.setdefault(life.board, set()).add(blob)
        return {board: frozenset(blobs) for board, blobs in found.items()}


class NeededInputs:
    """Counts jobs that have not ended by the blobs they name, as records change."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._jobs: Counter[tuple[str, str]] = Counter()

    def add_job(self, job: PoolJob) -> None:
        """A job is new, or changed."""
        if not job.is_ended and job.id not in self._of:
            self._of[job.id] = job.tenant, job.blobs
            self._jobs.update((job.tenant, sha) for sha in job.blobs)
        elif job.is_ended:
            self.remove_job(job.id)

    def remove_job(self, number: int) -> None:
        """A job needs nothing any more."""
        if (known := self._of.pop(number, None)) is not None:
            for sha in known[1]:
                self._jobs[known[0], sha] -= 1
                if not self._jobs[known[0], sha]:
                    del self._jobs[known[0], sha]

    def is_needed(self, tenant: str, sha256: str) -> bool:
        """Whether a job of a tenant's that has not ended names a blob."""
        return (tenant, sha256) in self._jobs
