# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HiGHS, the solver of linear and integer programs, silent. Nothing else imports `highspy`.

HiGHS 1.16 prints its banner while a `highspy.Highs` is made, before anybody can set an option of it.
"""

from __future__ import annotations

from highspy import Highs, HighsLp, HighsModelStatus, HighsVarType, MatrixFormat, SolutionStatus, kHighsInf

__all__ = ["HighsLp", "HighsModelStatus", "HighsVarType", "MatrixFormat", "SolutionStatus", "kHighsInf", "make_solver"]


class _SilentHighs(Highs):  # type: ignore[misc]
    """A solver that is silent before it prints its banner: the constructor does so when it enables callbacks."""

    def enableCallbacks(self) -> None:
        """Enable callbacks, with nothing printed."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def make_solver() -> Highs:
    """A solver with an empty model, which prints nothing, on any level."""
    solver = _SilentHighs()
    solver.setOptionValue("output_flag", False)
    return solver
