# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long an item of each task really takes, learned from items that ended.

What design tools estimate is too short by a factor that differs from module to module (1.3 to 9.8 on [004]'s board),
though within an application the factors are alike; and tasks of one application that run on the same module differ by
what they ask of it (AlexNet's convolutions by a factor of 18). So every task of every application is learned by itself:
one that was seen takes the mean of what was seen of it. One that was not takes its estimate times a factor, the first
of these that is known: that of the other tasks of its application on its module; that of its application; that of its
module in other applications. Where nothing of that was seen, the estimate stands: a factor of everything that was seen
was tried on [004]'s applications; it lowered slowdowns by 3 % where they come close together, raised them by 1 % where
they do not, and more of the recorded sequences' deadlines were missed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MOVED = 0.03
"""A mean that moved less than this share is not worth working everything out again."""
MEMORY = 32
"""How many items the mean remembers: an older one counts for less, so that a mean follows a change."""
APPLICATIONS = 256
"""How many applications are remembered; of more, those that nothing was seen of for the longest time are forgotten."""


class Item(NamedTuple):
    """An item that ended.

    Attributes:
        task: Its task's id there.
        module: What it ran on.
        estimate_s: What the designer says an item of the task takes.
        duration_s: What this one took.
    """

    application: str
    task: int
    module: str
    estimate_s: float
    duration_s: float


class SeenTask(NamedTuple):
    """What was seen of a task.

    Attributes:
        module: What it runs on.
        estimate_s: What the designer says an item takes.
        mean_s: What items took, on average.
        items: How many items the mean stands for, at most `MEMORY`.
        used_s: The mean as of the last time it moved noticeably; what predictions use.
    """

    module: str
    estimate_s: float
    mean_s: float
    items: int
    used_s: float


class Factor(NamedTuple):
    """Seconds that items of some tasks take, over those estimated for them."""

    real_s: float = 0.0
    estimated_s: float = 0.0

    def with_(self, seen: SeenTask, sign: int = 1) -> Factor:
        """With a task that was seen; with `sign` -1, without it."""
        return Factor(self.real_s + sign * seen.used_s, self.estimated_s + sign * seen.estimate_s)

    @property
    def value(self) -> float | None:
        """What to multiply an estimate by; None where nothing is known."""
        return self.real_s / self.estimated_s if self.estimated_s > 0 and self.real_s > 0 else None


@dataclass(frozen=True, slots=True)
class Latencies:
    """What was learned; a value, extended by `observe`.

    Attributes:
        tasks: Application to task to what was seen of it; applications in the order in which they were seen last.
        modules: Module to the factor of all tasks seen on it.
        version: Grows whenever what predictions use changes.
    """

    tasks: Mapping[str, Mapping[int, SeenTask]] = field(default_factory=dict)
    modules: Mapping[str, Factor] = field(default_factory=dict)
    version: int = 0

    def observe(self, items: Iterable[Item]) -> Latencies:
        """With some more items, in order."""
        tasks, modules, version = dict(self.tasks), self.modules, self.version
        for item in items:
            known = tasks.get(item.application, _NONE)
            old = known.get(item.task)
            same = old is not None and (old.module, old.estimate_s) == (item.module, item.estimate_s)
            new = _with_item(old if same else None, item)
            tasks.pop(item.application, None)
            tasks[item.application] = {**known, item.task: new}
            if old is not None and same and old.used_s == new.used_s:
                continue
            modules, version = dict(modules), version + 1
            if old is not None:
                modules[old.module] = modules[old.module].with_(old, -1)
            modules[new.module] = modules.get(new.module, Factor()).with_(new)
        if len(tasks) > APPLICATIONS:
            tasks = dict(list(tasks.items())[-APPLICATIONS:])
            modules = _factors(tasks)
        return Latencies(tasks, modules, version)

    def predict(self, application: str, tasks: Sequence[tuple[str, float]]) -> tuple[float, ...]:
        """Seconds an item of each task of an application takes.

        Args:
            tasks: Module and estimate in seconds of each, by id.
        """
        known = self.tasks.get(application, _NONE)
        shared = _factors({application: known})
        whole = Factor(sum([f.real_s for f in shared.values()]), sum([f.estimated_s for f in shared.values()]))
        found = []
        for number, (module, estimate_s) in enumerate(tasks):
            own = known.get(number)
            if own is not None and own.module == module:
                found.append(own.used_s)
                continue
            factors = shared.get(module), whole, self.modules.get(module)
            values = (factor.value for factor in factors if factor is not None)
            found.append(estimate_s * next((value for value in values if value is not None), 1.0))
        return tuple(found)


_NONE: Mapping[int, SeenTask] = {}


def _factors(tasks: Mapping[str, Mapping[int, SeenTask]]) -> dict[str, Factor]:
    """The factor of every module."""
    modules: dict[str, Factor] = {}
    for known in tasks.values():
        for seen in known.values():
            modules[seen.module] = modules.get(seen.module, Factor()).with_(seen)
    return modules


def _with_item(old: SeenTask | None, item: Item) -> SeenTask:
    """What is known of a task after one more item, the first of it where nothing was known."""
    if old is None:
        return SeenTask(item.module, item.estimate_s, item.duration_s, 1, item.duration_s)
    count = min(old.items + 1, MEMORY)
    mean_s = old.mean_s + (item.duration_s - old.mean_s) / count
    moved = abs(mean_s - old.used_s) > MOVED * old.used_s
    return SeenTask(item.module, item.estimate_s, mean_s, count, mean_s if moved else old.used_s)
