# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The forms of an application: the same results from fewer, larger tasks.

A package may say that one module does what several of its tasks do, from the first one's inputs to the last one's
outputs, with what lies between them never in memory. Each choice of such modules that do not overlap is a form: a task
graph of its own over the same inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from eddy.core.applications import Application, BufferRole, BufferSpec, FusedTask, TaskSpec, topological_order
from eddy.core.errors import InvalidRequest

MAX_FORMS = 32
"""Forms of one application that are looked at."""


@lru_cache(maxsize=256)
def list_forms(application: Application) -> tuple[Application, ...]:
    """An application as it is, then its other forms: of more fused tasks first, `MAX_FORMS` at most."""
    return (application, *(fuse_tasks(application, chosen) for chosen in _choices(application.fused)))


def select_form(application: Application, form: str) -> Application:
    """An application in the form of that name; "" is the application as it is.

    Raises:
        InvalidRequest: It has no such form.
    """
    for each in list_forms(application):
        if each.form == form:
            return each
    names = [each.form for each in list_forms(application)]
    raise InvalidRequest(f"application {application.name} has no form {form!r}", field="form", allowed=names)


def _choices(tasks: Sequence[FusedTask]) -> list[tuple[FusedTask, ...]]:
    """Choices of tasks that do not overlap, of more tasks first: the first ones found where there are too many."""
    found = list(islice(_disjoint_choices(tuple(tasks), frozenset()), MAX_FORMS))
    return sorted((chosen for chosen in found if chosen), key=len, reverse=True)[: MAX_FORMS - 1]


def _disjoint_choices(tasks: tuple[FusedTask, ...], covered: frozenset[str]) -> Iterator[tuple[FusedTask, ...]]:
    """Every choice of tasks that cover nothing twice, () last."""
    if not tasks:
        yield ()
        return
    first, rest = tasks[0], tasks[1:]
    if covered.isdisjoint(first.covers):
        for others in _disjoint_choices(rest, covered | set(first.covers)):
            yield (first, *others)
    yield from _disjoint_choices(rest, covered)


def fuse_tasks(application: Application, chosen: Sequence[FusedTask]) -> Application:
    """The form of an application in which each of these tasks stands for those it covers.

    Raises:
        InvalidRequest: It covers a task that is not there, or tasks with another one between them, or nothing writes an
            output any more.
    """
    covers = {name: task for task in chosen for name in task.covers}
    unknown = set(covers) - {task.name for task in application.tasks}
    if unknown:
        field = f"fused.{covers[min(unknown)].name}.covers"
        allowed = [task.name for task in application.tasks]
        raise InvalidRequest(f"{field}: no task {min(unknown)}", field=field, allowed=allowed)
    stands: dict[str, TaskSpec | FusedTask] = {task.name: covers.get(task.name, task) for task in application.tasks}
    parts = list(dict.fromkeys(stands.values()))
    place = {part: number for number, part in enumerate(parts)}
    where = [place[stands[task.name]] for task in application.tasks]
    edges = sorted({(where[a], where[b]) for a, b in application.edges if where[a] != where[b]})
    try:
        order = topological_order(len(parts), edges, "edges")
    except InvalidRequest:
        names = ", ".join(task.name for task in chosen)
        message = f"{names}: between the tasks one module covers there is one that it does not"
        raise InvalidRequest(message, field=f"fused.{chosen[0].name}.covers") from None
    new = {old: number for number, old in enumerate(order)}
    tasks = tuple(_task(new[old], parts[old]) for old in order)
    return replace(
        application,
        tasks=tasks,
        edges=tuple(sorted((new[a], new[b]) for a, b in edges)),
        buffers=_buffers(application, tasks, chosen),
        fused=(),
        form="+".join(task.name for task in chosen),
    )


def _task(number: int, part: TaskSpec | FusedTask) -> TaskSpec:
    return TaskSpec(number, part.name, part.module, part.arguments, part.estimate_s, part.time_limit_s)


def _buffers(
    application: Application, tasks: Sequence[TaskSpec], chosen: Sequence[FusedTask]
) -> tuple[BufferSpec, ...]:
    """Those the tasks still name; every input and output is among them."""
    named = {value for task in tasks for _, value in task.arguments if isinstance(value, str)}
    for buffer in application.buffers:
        if buffer.role is not BufferRole.INTERMEDIATE and buffer.name not in named:
            names = ", ".join(task.name for task in chosen)
            message = f"{names}: nothing reads or writes the {buffer.role.value} buffer {buffer.name} any more"
            raise InvalidRequest(message, field=f"fused.{chosen[0].name}.arguments")
    return tuple(buffer for buffer in application.buffers if buffer.name in named)
