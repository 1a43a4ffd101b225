# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How far the items of one job are: which tasks are done with which, and which of them are stored."""

from __future__ import annotations

from collections.abc import Sequence


class ItemProgress:
    """Items of one job, by task.

    Args:
        tasks: How many tasks there are.

    Attributes:
        done: By task, its finished items, always the first ones.
        attempts: By task, loads that were tried since it last did anything.
        finished: Items every task is done with.
        committed: Items that count as done: of the finished ones, those whose outputs are stored.
    """

    __slots__ = ("_left", "attempts", "batch", "committed", "done", "finished")

    def __init__(self, tasks: int, batch: int) -> None:
        self.batch = batch
        self.done = [0] * tasks
        self.attempts = [0] * tasks
        self.finished = self.committed = 0
        self._left = [tasks] * batch
        """Per item: tasks not done with it."""

    @property
    def collecting(self) -> bool:
        """Whether outputs of finished items are still to be stored."""
        return self.committed < self.finished

    @property
    def all_finished(self) -> bool:
        """Whether every task is done with every item."""
        return self.finished == self.batch

    def is_done(self, task: int) -> bool:
        """Whether a task has done every item."""
        return self.done[task] == self.batch

    def next_item(self, task: int, predecessors: Sequence[int], pipelined: bool) -> int | None:
        """The item a task may start now, or None; items go in order, each after its predecessors' same item."""
        item = self.done[task]
        if item >= self.batch:
            return None
        needed = item + 1 if pipelined else self.batch
        for before in predecessors:
            if self.done[before] < needed:
                return None
        return item

    def finish_item(self, task: int) -> list[int]:
        """Count one more item of a task; answers the items every task is now done with."""
        item = self.done[task]
        self.done[task] = item + 1
        self._left[item] -= 1
        before = self.finished
        self._count_finished()
        return list(range(before, self.finished))

    def discard_items(self, kept: int) -> None:
        """Forget what was done after the first `kept` items."""
        tasks = len(self.done)
        self.finished, self.committed = kept, min(self.committed, kept)
        self.done, self.attempts = [kept] * tasks, [0] * tasks
        self._left = [0 if item < kept else tasks for item in range(self.batch)]

    def resume(self, done: Sequence[int], attempts: Sequence[int], committed: int) -> None:
        """Take over what was written down."""
        self.done, self.attempts, self.committed = list(done), list(attempts), committed
        self._left = [sum(1 for count in done if count <= item) for item in range(self.batch)]
        self._count_finished()

    def _count_finished(self) -> None:
        while self.finished < self.batch and self._left[self.finished] == 0:
            self.finished += 1
