# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the API shows of each kind of jobs, and what a submission of it may have: one value a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from eddy.core.applications import RETURNED, Application
from eddy.core.errors import Conflict
from eddy.core.records import APPLICATION, KERNEL, OPTIONS, JobRecord
from eddy.hypervisor.jobs.work import JobKind

Applications = Mapping[str, Application]


@dataclass(frozen=True, slots=True)
class KindView:
    """How one kind of jobs looks from outside.

    Attributes:
        name: The kind's name, which is also the field of a submission that asks for one.
        title: What a sentence calls a job of this kind, at its beginning.
        refuses: Fields of a submission that make no sense for it.
        lingers: Whether accepting one takes so long that a client may leave meanwhile; it is then given up.
        logs: Whether it has a log.
        outputs: Names of the outputs of a job, given the applications by name.
        body: What the field of that name holds, for a kind beside applications and kernels; a request has it in `body`.
    """

    name: str
    title: str
    refuses: frozenset[str]
    lingers: bool
    logs: bool
    outputs: Callable[[JobRecord, Applications], tuple[str, ...]]
    body: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind of jobs that a server takes beside applications and kernels.

    Attributes:
        jobs: Makes works of requests.
        view: How it looks from outside; it has a body.
    """

    jobs: JobKind
    view: KindView


def _buffers(record: JobRecord, applications: Applications) -> tuple[str, ...]:
    application = applications.get(record.application)
    buffers = application.buffers if application else ()
    return tuple(buffer.name for buffer in buffers if buffer.role in RETURNED)


def _arrays(record: JobRecord, applications: Applications) -> tuple[str, ...]:
    return tuple(output.name for output in record.kernel.outputs) if record.kernel else ()


ONLY_APPLICATIONS = frozenset({"batch", "inputs", "constants"})
"""Fields of a submission that say how an application runs."""
ONLY_KERNELS = frozenset(name for name, option in OPTIONS.items() if option.only == KERNEL)
VIEWS: Mapping[str, KindView] = {
    APPLICATION: KindView(APPLICATION, "An application", ONLY_KERNELS, lingers=False, logs=False, outputs=_buffers),
    KERNEL: KindView(KERNEL, "A kernel", ONLY_APPLICATIONS, lingers=True, logs=True, outputs=_arrays),
}
"""Those that every server has, by name."""


def unknown_view(name: str) -> KindView:
    """How a job looks whose kind this server does not take: one of a server that takes it, or damaged."""
    return KindView(name, "A job", frozenset(), lingers=False, logs=False, outputs=lambda *_: ())


def views_with(more: Iterable[KindView]) -> Mapping[str, KindView]:
    """Every kind's view by name: those of `VIEWS`, and `more`.

    Raises:
        Conflict: Two kinds have one name.
    """
    views = dict(VIEWS)
    for view in more:
        if view.name in views:
            raise Conflict(f"there are two kinds of jobs called {view.name}", field="kinds")
        views[view.name] = view
    return views
