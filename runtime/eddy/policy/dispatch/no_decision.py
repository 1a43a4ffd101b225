# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Decides nothing: for a pool whose slots something else shares out."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.view import Dispatch, DispatchView


@dataclass(frozen=True, slots=True)
class NoDecision:
    """Gives nobody a slot."""

    name: str = "undecided"
    pipelined: bool = True

    def initial(self) -> None:
        """Nothing to remember."""

    def decide(self, view: DispatchView) -> Dispatch:
        """Nothing."""
        return Dispatch(())
