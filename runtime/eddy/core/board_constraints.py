# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a job asks of the board that a pool gives it to: as it is submitted, and as values to compare boards with.

Each is a plain option of a submission (`eddy.core.submission_options.SubmissionOptions`). Which boards meet them is
decided by `eddy.pool.placement.constraints`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from eddy.core.names import label_name, label_value

COMPUTING, MODEL, ANY = "computing", "model", "any"
"""Kinds of boards: those that compute, those that model times alone and whose outputs are zeros, and both."""
MAX_RULES = 16
BUILT_IN = ("board", "adapter", "profile")
"""Labels that every board has by itself: its name, and the two parts of its kind. Operators set others."""
FIELDS = ("board_kind", "board_labels", "resident_module", "apart", "same_board_as")
"""The options of a submission that say which boards may have it."""


@dataclass(frozen=True, slots=True)
class LabelRule:
    """A label that a board must have, or must not."""

    name: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.name}{'=' if self.equal else '!='}{self.value}"


@functools.lru_cache(maxsize=4096)
def label_rules(text: str) -> tuple[LabelRule, ...]:
    """What is asked of a board's labels: `NAME=VALUE` and `NAME!=VALUE` with commas between; all of it must hold.

    Raises:
        ValueError: It is written otherwise; says how it is written.
    """
    found = []
    for each in text.split(",") if text else ():
        name, equal, value = each.partition("=")
        if not equal:
            raise ValueError("must be NAME=VALUE or NAME!=VALUE, with commas between several")
        try:
            found.append(LabelRule(label_name(name.rstrip("!").strip()), label_value(value), not name.endswith("!")))
        except ValueError as wrong:
            raise ValueError(f"{each!r}: a label's name or value {wrong}") from None
    if len(found) > MAX_RULES:
        raise ValueError(f"must have at most {MAX_RULES} rules")
    return tuple(found)
