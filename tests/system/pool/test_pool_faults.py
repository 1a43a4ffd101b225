# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`tools/pool_faults.py`, a few events of it: boards, heads and the NATS server killed and frozen while jobs run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[3] / "tools" / "pool_faults.py"


def test_no_job_is_lost_and_none_counts_twice(tmp_path: Path) -> None:
    out = tmp_path / "faults.json"
    command = [sys.executable, str(TOOL), "--events", "2", "--seed", "7", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert found["wrong"] == []
    assert found["events"] == 2
    assert found["jobs"] == 8
    assert found["transfers"] > 0
    assert len({event["kind"] for event in found["each"]}) > 1
