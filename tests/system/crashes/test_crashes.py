# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Killed at random points under applications and kernels, server and board lose no job; see `crash_rig.py`."""

from __future__ import annotations

from pathlib import Path

from system.crashes import crash_rig


def test_no_accepted_job_is_lost_or_run_twice_when_a_half_is_killed(tmp_path: Path) -> None:
    rig = crash_rig.run(tmp_path, crashes=2, seed=4)
    assert rig.wanted, "how many come between two crashes is the machine's speed"
    assert all(each.job is not None for each in rig.wanted)
