# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Without the pool's extra nothing of it is imported, and the commands that need it say how to get it."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = "import sys; sys.modules['nats'] = None; from eddy.cli.main import app; app(sys.argv[1:])"


def test_a_server_imports_nothing_of_it() -> None:
    code = (
        "import eddy.api.service.server, eddy.cli.main, sys\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'nats' or name.startswith('eddy.pool')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_commands_say_what_to_install() -> None:
    for command in (["pool", "up"], ["pool", "serve"], ["serve", "--board", "model", "--pool", "nats://127.0.0.1:1"]):
        found = subprocess.run([sys.executable, "-c", HIDDEN, *command], capture_output=True, text=True)
        assert found.returncode == 2
        assert "pip install 'eddy-fpga[pool]'" in found.stderr


def test_a_pool_that_is_not_there_is_said_in_one_line() -> None:
    command = [sys.executable, "-m", "eddy", "pool", "serve", "--pool", "nats://127.0.0.1:9", "--port", "0"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert found.returncode == 3
    assert found.stderr.strip().splitlines()[-1].startswith("eddy: No pool answers at 127.0.0.1:9")


def test_commands_on_keys_import_no_client_and_no_reader_of_certificates() -> None:
    """A key that was stolen is to be dead at once: most of what `eddy pool revoke` took was imports."""
    code = (
        "import sys\nfrom eddy.pool.servers.admission import PoolAdmission\n"
        "print([name for name in ('nats', 'uvicorn', 'fastapi', 'cryptography.x509') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
