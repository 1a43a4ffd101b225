# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which boards may have which jobs: what a job asks of its board, compared with boards as they are in one view.

Looked at as a job is placed; one that runs stays where it is, whatever becomes of labels or modules meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from eddy.core.board_constraints import ANY, COMPUTING, MODEL, label_rules
from eddy.pool.records.records import PoolBoard, PoolJob

Label = Callable[[str], str | None]


def _label(board: PoolBoard, name: str) -> str | None:
    """A label of a board; None where it has none of that name."""
    if name == "board":
        return board.name
    if name in ("adapter", "profile"):
        adapter, _, profile = board.kind.partition("/")
        return adapter if name == "adapter" else profile
    return board.labels.get(name)


def unmet_by_nature(job: PoolJob, board: PoolBoard) -> tuple[str, str]:
    """What a board has not that a job asks for, whoever else is there: the option, and words; "" twice for nothing."""
    kind = MODEL if not board.computes else COMPUTING
    if job.board_kind not in (ANY, kind):
        words = "model times alone, with outputs of zeros" if kind == MODEL else "compute"
        return "board_kind", f"they {words}, and it asks for {job.board_kind} boards"
    for rule in label_rules(job.request.get("board_labels") or ""):
        if (_label(board, rule.name) == rule.value) != rule.equal:
            return "board_labels", f"it asks for {rule}"
    return "", ""


@dataclass
class PlacementRules:
    """What holds in one view.

    Attributes:
        partners: By number of a job that others go with: the board that has it, or had it last; "" while none has yet.
            One that is missing will never have one, and binds nobody.
        apart: Boards that have a job of (tenant, name), how many each.
    """

    partners: Mapping[int, str] = field(default_factory=dict)
    apart: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[PoolJob], partners: Mapping[int, str]) -> PlacementRules:
        """Those of a pool whose boards have some jobs."""
        found = cls(partners)
        for job in given:
            if job.board:
                found.add(job, job.board)
        return found

    def add(self, job: PoolJob, board: str) -> None:
        """A board has a job more."""
        if name := job.request.get("apart"):
            self.apart.setdefault((job.tenant, name), Counter())[board] += 1

    def unmet(self, job: PoolJob, board: PoolBoard) -> tuple[str, str]:
        """Why a board may not have a job: the option of its submission that it does not meet, and words for people;
        "" twice where it may. Whether it can run it at all is another question (`PoolBoard.runs`)."""
        if (other := job.request.get("same_board_as")) is not None:
            on = self.partners.get(other)
            if on == "":
                return "same_board_as", "no board has the job yet that it goes with"
            if on is not None and on != board.name:
                return "same_board_as", "they are not the board of the job that it goes with"
        if (found := unmet_by_nature(job, board))[0]:
            return found
        module = job.request.get("resident_module")
        if module and module not in board.modules:
            return "resident_module", f"{module} is in none of their slots"
        if (name := job.request.get("apart")) and self._others(job, name, board.name):
            return "apart", f"they have another of your jobs that are apart as {name}"
        return "", ""

    def _others(self, job: PoolJob, name: str, board: str) -> bool:
        """Whether a board has another job that this one is kept apart from."""
        count = self.apart.get((job.tenant, name), Counter())[board]
        return count > (1 if job.board == board else 0)

    def allow(self, job: PoolJob, board: PoolBoard) -> bool:
        """Whether a board can run a job, and may have it."""
        return board.runs(job) and not self.unmet(job, board)[0]


def is_particular(job: PoolJob) -> bool:
    """Whether two boards may differ for a job that compute or both do not, are of one kind and run the same."""
    return any(map(job.request.get, ("board_labels", "resident_module", "apart", "same_board_as")))


def likeness(jobs: Iterable[PoolJob]) -> Callable[[PoolBoard], tuple[object, ...]]:
    """What makes boards alike to some jobs: what each can run and how fast; and its name, where one of them is
    particular."""
    if any(map(is_particular, jobs)):
        return lambda board: (board.name,)
    return lambda board: (board.kind, board.applications, board.kernels, board.computes)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why some boards do not get a job.

    Attributes:
        option: Of its submission that they do not meet; "" where it is something else.
        words: The same for people, of several boards.
        can_run: Whether they can run it at all.
    """

    option: str
    words: str
    boards: tuple[str, ...]
    can_run: bool = True


def obstacles(
    job: PoolJob, boards: Iterable[PoolBoard], present: Collection[str], full: Collection[str], rules: PlacementRules
) -> list[Obstacle]:
    """Why a job waits: of each board that ever joined, the first thing that keeps it from having the job. Constraints
    come first, as they are what whoever submitted it can change.

    Args:
        job: It waits for a board.
        boards: All; one that gets nothing says so in `drained`.
        present: Names of those whose lease holds.
        full: Names of those without room.
        rules: As the pool is.
    """
    found: dict[tuple[str, str, bool], list[str]] = {}
    for board in boards:
        option, words = rules.unmet(job, board)
        if not board.runs(job):
            option, words = "", "they cannot run it"
        elif not option:
            words = _state_of(board, present, full)
        if words:
            found.setdefault((option, words, board.runs(job)), []).append(board.name)
    return [Obstacle(option, words, tuple(names), can_run) for (option, words, can_run), names in found.items()]


def _state_of(board: PoolBoard, present: Collection[str], full: Collection[str]) -> str:
    """Why a board that may have a job does not get it now."""
    if board.name not in present:
        return "they are away"
    if board.drained:
        return "they get no jobs now"
    return "they are full" if board.name in full else ""
