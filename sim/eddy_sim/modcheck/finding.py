# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a check of a module went."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """How one check went.

    Attributes:
        check: Its name.
        what: What it checks, in one line.
        passed: Whether the module passed.
        reason: Why not; empty where it passed.
        shown: Whether the check came to what it checks; one that did not has not passed.
        unusual: What there is to know of a module that passed; empty where nothing is.
    """

    check: str
    what: str
    passed: bool
    reason: str
    shown: bool = True
    unusual: str = ""
