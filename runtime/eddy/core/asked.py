"""What a submission says about a job beside what it computes: labels, and what else holds for jobs of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

MAX_LABELS = 16
MAX_AFTER = 64
MAX_ARRAY = 1000
MAX_RETRIES = 10
NOT_ITS_FAULT = (
    *("clock-lost", "configuration-error", "identity-mismatch", "control-timeout", "control-refused"),
    *("board-restarted", "internal-error"),
)
"""Causes (`eddy.board.port.Cause`) that a job has no part in: it is tried again after these, unless it names others."""
ITS_OWN = (
    *("time-limit", "read-outside-window", "write-outside-window", "illegal-burst", "write-stalled"),
    *("response-stalled", "module-error", "illegal-instruction", "misaligned-access", "kernel-trap"),
    "barrier-deadlock",
    "stack-overflow",
)
"""The other causes after which a job may be tried again."""
LABEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$"
LABEL_VALUE = r"^[ -~]{0,64}$"


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """A job's place among those that were submitted together.

    Attributes:
        id: The array's, which is the first job's.
        index: Its place, from 0.
        size: Jobs of the array.
    """

    id: int
    index: int
    size: int


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a job that failed is tried again, and after which causes.

    Attributes:
        max: Times.
        on: Causes; see `NOT_ITS_FAULT`.
    """

    max: int = 0
    on: tuple[str, ...] = NOT_ITS_FAULT


NO_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class Asked:
    """What holds for jobs of every kind, as it was asked for; it never changes.

    Attributes:
        labels: Name to value, for people and filters.
        after: Jobs of the same tenant that must have succeeded before it is ready.
        array: Its place in an array, known once it is accepted; None where it is of none.
        retries: What happens where it fails.
        ends_late: Whether it ends where its deadline has passed; else it goes on.
        min_progress: Normalised progress it should keep beside others, in [0, 1]; None for its tenant's.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    after: tuple[int, ...] = ()
    array: ArrayPlace | None = None
    retries: Retries = NO_RETRIES
    ends_late: bool = False
    min_progress: float | None = None

    def to_json(self) -> dict[str, Any]:
        """What was asked for, as JSON; empty where nothing was."""
        body: dict[str, Any] = {"labels": dict(self.labels), "after": list(self.after)}
        body["array"] = list(astuple(self.array)) if self.array is not None else []
        body["retries"] = [self.retries.max, list(self.retries.on)] if self.retries != NO_RETRIES else []
        body["ends_late"] = self.ends_late
        found = {name: value for name, value in body.items() if value}
        return found if self.min_progress is None else {**found, "min_progress": self.min_progress}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Asked:
        """The inverse of `to_json`."""
        place, retries = body.get("array"), body.get("retries")
        return cls(
            labels=dict(body.get("labels", {})),
            after=tuple(body.get("after", ())),
            array=ArrayPlace(*place) if place else None,
            retries=Retries(retries[0], tuple(retries[1])) if retries else NO_RETRIES,
            ends_late=bool(body.get("ends_late", False)),
            min_progress=body.get("min_progress"),
        )


NOTHING = Asked()
