# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""README's steps, as they stand there: a new user with nothing set gets from each what it promises."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from eddy.pool.servers.nats_server import free_port
from PIL import Image

ROOT = Path(__file__).parents[3]


def steps() -> list[str]:
    """The commands under "Try it by hand", without their comments."""
    section = (ROOT / "README.md").read_text().split("## Try it by hand\n\n")[1].split("\n## ")[0]
    return [line.partition("#")[0].strip() for line in section.splitlines() if line.startswith("    ")]


def words(step: str) -> list[str]:
    """A step as a program is started; `.venv/bin/eddy` is this interpreter's."""
    program, *rest = shlex.split(step.removesuffix("&"))
    assert program == ".venv/bin/eddy"
    return [sys.executable, "-m", "eddy.cli.main", *rest]


@contextmanager
def serving(step: str, environment: dict[str, str]) -> Iterator[None]:
    """The first step, in the background, from when it says where it serves."""
    process = subprocess.Popen(words(step), cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "serving on" in line:
                break
        else:
            pytest.fail("".join(lines))
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=180)


@pytest.mark.rtl
@pytest.mark.xdist_group("simulated board")
def test_the_steps_of_the_readme(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    known = {name: value for name, value in os.environ.items() if not name.startswith("EDDY_") or "BUILD" in name}
    environment = {**known, "HOME": str(tmp_path), "EDDY_PORT": str(port), "EDDY_URL": f"127.0.0.1:{port}"}
    demonstration, first, *others = steps()
    # What `make demo` leaves behind has a test of its own; here it is the picture that the next steps take.
    assert demonstration == "make demo"
    picture = tmp_path / "out" / "demo" / "photograph.png"
    picture.parent.mkdir(parents=True)
    Image.fromarray(np.tile(np.arange(256, dtype="u1"), (256, 1))).save(picture)
    assert first.endswith("&")
    assert len(others) >= 2
    with serving(first, environment):
        said = {}
        for step in others:
            done = subprocess.run(
                words(step), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
            )
            assert done.returncode == 0, (step, done.stderr)
            said[step] = done.stdout
            assert done.stdout
        assert "image_compression" in said[".venv/bin/eddy apps"]
        assert "succeeded" in said[".venv/bin/eddy jobs"]
    assert (tmp_path / "result" / "result.png").read_bytes().startswith(b"\x89PNG")
