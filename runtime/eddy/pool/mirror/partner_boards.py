# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""On which board the jobs are, or were, that others are to be placed beside (`same_board_as`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eddy.pool.records.records import PoolJob


class PartnerBoards:
    """Boards of partners, for as long as an open job names them.

    Args:
        find: Finds a job that is not among the open ones.
    """

    def __init__(self, find: Callable[[int], PoolJob | None]) -> None:
        self._find = find
        self._followers: dict[int, set[int]] = {}
        self._board: dict[int, str] = {}

    @property
    def boards(self) -> Mapping[int, str]:
        """By number: the board that has it, or had it at its end; "" while none has. One that ended without a board,
        or whose record is gone, is missing: nothing of it is anywhere."""
        return self._board

    def named(self, number: int) -> bool:
        """Whether an open job goes with one."""
        return number in self._followers

    def add_record(self, job: PoolJob, before: PoolJob | None, known: Mapping[int, PoolJob]) -> None:
        """A job is new, or changed, or has ended.

        Args:
            before: As it was, if it was open.
            known: Jobs that have not ended, by number.
        """
        if job.id in self._followers:
            self.observe(job)
        partner = job.request.get("same_board_as")
        if partner is None:
            return
        if job.is_ended:
            self.drop(job)
        elif before is None:
            self._followers.setdefault(partner, set()).add(job.id)
            if (there := known.get(partner) or self._find(partner)) is not None:
                self.observe(there)

    def observe(self, partner: PoolJob) -> None:
        """Take in where a partner is."""
        if partner.is_ended and not partner.last_board:
            self._board.pop(partner.id, None)
        else:
            self._board[partner.id] = partner.last_board if partner.is_ended else partner.board

    def miss(self, number: int) -> None:
        """A partner's record is gone, or cannot be read."""
        self._board.pop(number, None)

    def drop(self, job: PoolJob) -> None:
        """A job that was to go with another has ended, or is gone."""
        partner = job.request.get("same_board_as")
        if partner is None or partner not in self._followers:
            return
        self._followers[partner].discard(job.id)
        if not self._followers[partner]:
            del self._followers[partner]
            self.miss(partner)
