# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why a job waits that boards might have: what it asks of boards, and what boards there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eddy.core.board_constraints import COMPUTING
from eddy.core.errors import InvalidRequest
from eddy.packages.catalogue import Catalogue
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.placement.constraints import Obstacle, PlacementRules, obstacles, unmet_by_nature
from eddy.pool.records.records import AHEAD, QUEUED, PoolBoard, PoolJob


def check_boards(job: PoolJob, boards: Sequence[PoolBoard], catalogue: Catalogue) -> None:
    """See that some board that ever joined may meet what a job asks of it; of a pool that none has joined yet, nothing
    is known.

    Raises:
        InvalidRequest: None ever could as they are; names what keeps it.
    """
    module = job.request.get("resident_module")
    if module and module not in catalogue.modules:
        message = f"resident_module: there is no module {module}; `eddy apps` names those of each application."
        raise InvalidRequest(message, field="resident_module", asked=module)
    missing = [unmet_by_nature(job, board) for board in boards]
    if not missing or any(not option for option, _ in missing):
        return
    option, words = missing[0]
    asked = job.request.get(option, job.board_kind)
    if all(option == "board_kind" for option, _ in missing) and job.board_kind == COMPUTING:
        message = (
            "board_kind: no board of this pool computes: outputs would be zeros. `any` accepts that"
            " (`--board-kind any`)."
        )
        raise InvalidRequest(message, field="board_kind", asked=asked, allowed=["any", "model"])
    together = " and ".join(sorted({option for option, _ in missing}))
    message = f"{together}: no board of this pool meets that. Of all {len(boards)} boards: {words}."
    raise InvalidRequest(message, field=option, asked=asked)


def obstacles_of(mirror: Mirror, job: PoolJob) -> list[Obstacle]:
    """What keeps each board from having a job that waits for one; none where it does not."""
    if job.state != QUEUED:
        return []
    usable = {board.name: board.drained for board in mirror.usable_boards}
    boards = [replace(board, drained=usable.get(name, board.drained)) for name, board in sorted(mirror.boards.items())]
    full = {board.name for board in boards if len(mirror.jobs.on(board.name)) >= board.width + AHEAD}
    rules = PlacementRules.of(mirror.jobs.jobs_on_boards, mirror.jobs.partners.boards)
    return obstacles(job, boards, usable.keys(), full, rules)


def unmet_options(found: Sequence[Obstacle]) -> str:
    """In words, the constraints that alone keep a job from every board that could run it; "" where something else
    keeps it from one."""
    asked = [each for each in found if each.option]
    if not asked or any(each.can_run and not each.option for each in found):
        return ""
    return "; ".join(dict.fromkeys(f"{each.words} ({each.option})" for each in asked))


def render_obstacles(found: Sequence[Obstacle], everyone: bool) -> list[dict[str, Any]]:
    """As `explain` tells them. Which boards these are says what others run there: that is for operators."""
    return [
        {"option": each.option, "words": each.words, **({"boards": list(each.boards)} if everyone else {})}
        for each in found
    ]
