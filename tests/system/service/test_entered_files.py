# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long the way of a request is: the files that whoever debugs it has to know."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "entered_files.py"
MAX = {"GET of a page of jobs": 16, "POST of a job": 25, "GET of the overview": 32, "PUT of a blob": 20}
"""Files of `eddy` from the bytes of a request to those of its answer. What needs more goes where others do the same."""


def test_requests_enter_few_files() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--json", "--names"], capture_output=True, text=True, timeout=600, check=True
    )
    found = {name: files for name, files in json.loads(done.stdout).items() if name in MAX}
    assert found.keys() == MAX.keys()
    assert all("api/http/connections.py" in files for files in found.values()), "it saw the whole way"
    assert {name: files for name, files in found.items() if len(files) > MAX[name]} == {}
