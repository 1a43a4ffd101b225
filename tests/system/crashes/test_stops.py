# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Told to end, a server ends in order: slots closed, store closed, no traceback; see `stop_rig.py` for many more."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from eddy.cli.demo.demo_plan import photograph
from system.crashes import stop_rig

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


@pytest.mark.parametrize(("board", "seed"), [("rtl", 4), ("model", 5), ("split", 6)])
def test_stops_at_random_moments_leave_every_slot_closed_and_no_job_lost(tmp_path: Path, board: str, seed: int) -> None:
    dice = random.Random(seed)
    with stop_rig.site(board, tmp_path) as place:
        what, wrong = stop_rig.one_stop(place, dice)
        assert "KILL" not in what
        assert not wrong, (what, wrong)
        assert stop_rig.finish(place) == 3


def test_a_server_that_is_followed_ends_at_the_second_signal_without_a_traceback(tmp_path: Path) -> None:
    with stop_rig.site("rtl", tmp_path) as place:
        server = place.server()
        url = server.ready["url"]
        place.submit(url, [photograph("operator", 1, 0, 15)])
        ((job, _),) = place.jobs
        place.wait_running(url)
        key = (place.data / "operator.key").read_text().strip()
        lines: list[str] = []
        broken: list[str] = []

        def follow() -> None:
            headers = {"Authorization": f"Bearer {key}"}
            try:
                with httpx.stream("GET", f"{url}/v1/jobs/{job}/events", headers=headers, timeout=180) as stream:
                    lines.extend(stream.iter_lines())
            except httpx.HTTPError as error:
                broken.append(repr(error))

        thread = threading.Thread(target=follow)
        thread.start()
        while not lines and thread.is_alive():
            time.sleep(0.01)
        ended = server.end([signal.SIGTERM, signal.SIGINT], 0.05)
        thread.join(180)
        assert not stop_rig.objections(ended, True, place.data)
        assert not broken


def test_a_stop_while_models_are_built_leaves_no_compiler_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "EDDY_BUILD_DIR": str(tmp_path / "build")}
    command = [sys.executable, "-m", "eddy", "serve", "--board", "rtl", "--profile", "tiny", "--port", "0"]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "data")], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        while "building" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGTERM)
        said += process.communicate(timeout=180)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in said
    until_s = time.monotonic() + 180
    while left := _running_with(str(tmp_path)):  # what is killed is not gone at once
        assert time.monotonic() < until_s, f"a compiler was left behind: {left}"
        time.sleep(0.05)


def _running_with(text: str) -> list[str]:
    """Command lines of other processes that were started with a text among their arguments or settings."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if text.encode() in told and int(folder.name) != os.getpid():
            found.append((folder / "cmdline").read_bytes().decode(errors="replace"))
    return found
