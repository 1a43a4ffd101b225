"""What the API shows of each kind of jobs, and what a submission of it may have: one value a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from eddy.core.applications import Application, BufferRole
from eddy.core.records import APPLICATION, KERNEL, JobRecord

Applications = Mapping[str, Application]


@dataclass(frozen=True, slots=True)
class KindView:
    """How one kind of jobs looks from outside.

    Attributes:
        name: The kind's name.
        title: What a sentence calls a job of this kind, at its beginning.
        refuses: Fields of a submission that make no sense for it.
        lingers: Whether accepting one takes so long that a client may leave meanwhile; it is then given up.
        logs: Whether it has a log.
        outputs: Names of the outputs of a job, given the applications by name.
    """

    name: Literal["application", "kernel"]
    title: str
    refuses: frozenset[str]
    lingers: bool
    logs: bool
    outputs: Callable[[JobRecord, Applications], tuple[str, ...]]


def _buffers(record: JobRecord, applications: Applications) -> tuple[str, ...]:
    application = applications.get(record.application)
    buffers = application.buffers if application else ()
    return tuple(buffer.name for buffer in buffers if buffer.role is BufferRole.OUTPUT)


def _arrays(record: JobRecord, applications: Applications) -> tuple[str, ...]:
    return tuple(output.name for output in record.kernel.outputs) if record.kernel else ()


_ONLY_APPLICATIONS = frozenset({"batch", "inputs", "constants"})
_ONLY_KERNELS = frozenset({"time_limit_s"})
VIEWS: Mapping[str, KindView] = {
    APPLICATION: KindView("application", "An application", _ONLY_KERNELS, lingers=False, logs=False, outputs=_buffers),
    KERNEL: KindView("kernel", "A kernel", _ONLY_APPLICATIONS, lingers=True, logs=True, outputs=_arrays),
}
"""By the kind's name, which is also the field of a submission that asks for one."""
