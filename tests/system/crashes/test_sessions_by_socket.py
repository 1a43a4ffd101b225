# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Halves killed under a session, as processes joined by a socket, leave defined ends; see `session_crash_rig.py`."""

from __future__ import annotations

from pathlib import Path

from system.crashes import session_crash_rig


def test_every_command_has_a_defined_end_when_a_half_is_killed(tmp_path: Path) -> None:
    tenant = session_crash_rig.run(tmp_path, crashes=2, seed=3)
    assert tenant.ends[""] > 0
    assert set(tenant.ends) <= session_crash_rig.DEFINED
    assert tenant.checks > 0
