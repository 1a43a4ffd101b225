# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a submission says about a job beside what it computes: labels, and what else holds for jobs of every kind."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any

from eddy.core.board_constraints import ANY, COMPUTING, MODEL

MAX_LABELS = 16
MAX_AFTER = 64
MAX_ARRAY = 1000
MAX_RETRIES = 10
NOT_ITS_FAULT = (
    *("clock-lost", "configuration-error", "identity-mismatch", "control-timeout", "control-refused"),
    *("board-restarted", "internal-error"),
)
"""Causes (`eddy.board.port.port.Cause`) that a job has no part in: it is tried again after these, unless it names
others."""
ITS_OWN = (
    *("time-limit", "read-outside-window", "write-outside-window", "illegal-burst", "write-stalled"),
    *("response-stalled", "module-error", "stream-lost", "illegal-instruction", "misaligned-access", "kernel-trap"),
    "barrier-deadlock",
    "stack-overflow",
)
"""The other causes after which a job may be tried again."""


MAX_SECONDS = 1e9
MAX_ID = (1 << 63) - 1
"""Of a job or an array."""


@dataclass(frozen=True, slots=True)
class Option:
    """A field of a submission that is one plain value. Declared once, beside the field of `JobRequest` or
    `SubmissionOptions` that has it: the body's and the answer's schema, the client's argument, the flag of `eddy
    submit` and `eddy kernel`, what the store keeps and what a pool hands on are made of this.

    Attributes:
        type: Of its values: `float`, `int`, `str` or `bool`.
        default: What is as good as leaving it out. None is a value then, too.
        description: In the schema of a body; `flag` has it as its help where `help` is empty.
        shown: In the schema of an answer, what else it says than `description`.
        choices: Values it may have; none for any.
        bounds: `ge`, `gt`, `le`, `lt`, of numbers; `min_length`, `max_length`, of texts.
        flag: Of the commands, with a short form behind a space; "" where they say it in another way.
        only: Kind of jobs that has it; "" for all.
        for_boards: Whether a pool's boards are given it; else the pool acts on it itself.
    """

    type: type[Any]
    default: Any
    description: str
    shown: str = ""
    choices: tuple[Any, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    flag: str = ""
    help: str = ""
    only: str = ""
    for_boards: bool = True


def option(kind: type[Any], default: Any, description: str, **more: Any) -> Any:
    """A field of a dataclass that is an option of submissions; the arguments are those of `Option`."""
    return field(default=default, metadata={Option.__name__: Option(kind, default, description, **more)})


def options_of(of: type[Any]) -> Mapping[str, Option]:
    """The options among the fields of a dataclass, by name."""
    return {each.name: each.metadata[Option.__name__] for each in fields(of) if Option.__name__ in each.metadata}


class Condition(str, enum.Enum):
    """What a job waits for of another one, or of an array; the value is the field of a submission that names it."""

    SUCCESS = "after"
    """It has succeeded; an array where all of its jobs have."""
    END = "afterany"
    """It has ended, however."""
    FAILURE = "afternotok"
    """It has ended as failed or cancelled; an array where all of its jobs have ended, and one or more of them so."""
    ELEMENT = "aftercorr"
    """Of an array: each job of another array waits for the success of the one in the same place. It is resolved into
    `SUCCESS` of that job when the other array is accepted."""


@dataclass(frozen=True, slots=True)
class Predecessor:
    """Another job of the same tenant, or an array of jobs, that a job waits for.

    Attributes:
        id: Of the job or array.
        wanted: What must have become of it.
        array: Whether it is an array; not known yet in a submission.
    """

    id: int
    wanted: Condition = Condition.SUCCESS
    array: bool = False

    def to_json(self) -> int | list[Any]:
        """As JSON; a job that must succeed is its id alone, as earlier versions have it."""
        plain = self.wanted is Condition.SUCCESS and not self.array
        return self.id if plain else [self.id, self.wanted.value, self.array]

    @classmethod
    def from_json(cls, found: int | Sequence[Any]) -> Predecessor:
        """The inverse of `to_json`."""
        return cls(found) if isinstance(found, int) else cls(found[0], Condition(found[1]), bool(found[2]))


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """A job's place among those that were submitted together.

    Attributes:
        id: The array's, which no job has; in arrays of earlier versions it is the first job's as well.
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
class SubmissionOptions:
    """What holds for jobs of every kind, as it was asked for; it never changes.

    Attributes:
        labels: Name to value, for people and filters.
        after: What it waits for before it is ready, all of it.
        array: Its place in an array, known once it is accepted; None where it is of none.
        max_running: Jobs of its array that are ready or run at once, at most; None for any number.
        retries: What happens where it fails.
        late: What becomes of it where its deadline has passed.
        min_progress: Normalised progress it should keep beside others, in [0, 1]; None for its tenant's.
        board_kind, board_labels, resident_module, apart, same_board_as: Boards of a pool that may have it.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    after: tuple[Predecessor, ...] = ()
    array: ArrayPlace | None = None
    max_running: int | None = None
    retries: Retries = NO_RETRIES
    late: str = option(
        str,
        "continue",
        "What becomes of it where `deadline_s` has passed: `end` has it fail with `deadline-passed`.",
        shown="What becomes of it where its deadline has passed.",
        choices=("continue", "end"),
        for_boards=False,
    )
    min_progress: float | None = option(
        float,
        None,
        "For a kernel: part of its speed alone that it should keep beside others, at most what your tenant was "
        "promised; null for that.",
        shown="Part of its speed alone that it asked to keep; null for what was promised.",
        bounds={"ge": 0, "le": 1},
        flag="--min-progress",
        help="Part of its speed alone that it should keep beside others.",
        only="kernel",
    )
    board_kind: str | None = option(
        str,
        None,
        "Which boards of a pool may have it: `computing` ones, those that `model` times alone and whose outputs are "
        "zeros, or `any`; null for computing ones, and at a board alone for whatever that is.",
        choices=(COMPUTING, MODEL, ANY),
        flag="--board-kind",
        help="boards of a pool that may have it; computing ones where this is left out.",
        for_boards=False,
    )
    board_labels: str | None = option(
        str,
        None,
        "Labels that its board in a pool must have, `NAME=VALUE` or `NAME!=VALUE` with commas between; null for any.",
        bounds={"min_length": 1, "max_length": 1024},
        flag="--board-labels",
        help="Labels of boards of a pool that may have it: NAME=VALUE or NAME!=VALUE, with commas between.",
        for_boards=False,
    )
    resident_module: str | None = option(
        str,
        None,
        "A module that must be in a slot of its board in a pool as it is placed; null for none.",
        bounds={"min_length": 1, "max_length": 64},
        flag="--resident-module",
        help="Give it only to boards of a pool with this module in a slot.",
        for_boards=False,
    )
    apart: str | None = option(
        str,
        None,
        "A name: no board of a pool is given two jobs of yours with the same one at once; null for none.",
        bounds={"min_length": 1, "max_length": 64},
        flag="--apart",
        help="A name: no board of a pool has two of your jobs with the same one at once.",
        for_boards=False,
    )
    same_board_as: int | None = option(
        int,
        None,
        "A job of yours: this one goes to the board of a pool that has it, or had it last; null for any board.",
        bounds={"ge": 1, "le": MAX_ID},
        flag="--same-board-as",
        help="A job of yours, to whose board of a pool it goes.",
        for_boards=False,
    )

    @property
    def ends_late(self) -> bool:
        """Whether it ends where its deadline has passed."""
        return self.late == "end"

    def to_json(self) -> dict[str, Any]:
        """What was asked for, as JSON; empty where nothing was."""
        after = [each.to_json() for each in self.after]
        body: dict[str, Any] = {"labels": dict(self.labels), "after": after, "max_running": self.max_running}
        body["array"] = list(astuple(self.array)) if self.array is not None else []
        body["retries"] = [self.retries.max, list(self.retries.on)] if self.retries != NO_RETRIES else []
        body[_LATE] = self.ends_late
        found = {name: value for name, value in body.items() if value}
        said = {name: getattr(self, name) for name in ECHOED if name != "late"}
        return found | {name: value for name, value in said.items() if value != ECHOED[name].default}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SubmissionOptions:
        """The inverse of `to_json`."""
        place, retries = body.get("array"), body.get("retries")
        return cls(
            labels=dict(body.get("labels", {})),
            after=tuple(map(Predecessor.from_json, body.get("after", ()))),
            max_running=body.get("max_running"),
            array=ArrayPlace(*place) if place else None,
            retries=Retries(retries[0], tuple(retries[1])) if retries else NO_RETRIES,
            **{name: body.get(name, each.default) for name, each in ECHOED.items()} | _late(body),
        )


def _late(body: Mapping[str, Any]) -> dict[str, str]:
    return {"late": "end"} if body.get(_LATE) else {}


_LATE = "ends_late"
"""What is kept of `late`, as the first release had it."""
ECHOED = options_of(SubmissionOptions)
"""Options that a job's record keeps, and an answer shows, as they came."""
NOTHING = SubmissionOptions()
