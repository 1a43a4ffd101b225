# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Types the commands of a page in this process: `eddy` and the signing tool are called, a shell does the rest.

A command of its own process takes a second to load Eddy; here a page takes a second in all.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.board.images import signing
from eddy.cli.main import app
from typer.testing import CliRunner

SIGNING = "python -m eddy.board.images.signing "
_COMMENT = re.compile(r"\s+#\s.*$")


class Failed(Exception):
    """A line of a page did not do what it says."""


@dataclass
class Typist:
    """A person at a terminal.

    Args:
        folder: Where it begins.
        environment: Variables of the terminal.
        patch: To see which settings `eddy serve` comes to.

    Attributes:
        served: Settings of every `eddy serve` that came to serve, one after the other.
    """

    folder: Path
    environment: dict[str, str]
    patch: pytest.MonkeyPatch
    served: list[ServerSettings] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.patch.chdir(self.folder)
        self.patch.setattr("eddy.cli.boards.serve._run", self._serve)

    def type(self, text: str) -> str:
        """Type the lines of a block; what they print.

        Raises:
            Failed: One was refused.
        """
        lines = re.sub(r" *\\\n\s*", " ", text).splitlines()
        return "".join(self._line(_COMMENT.sub("", line).strip()) for line in lines)

    def _line(self, line: str) -> str:
        line = line.removesuffix("&").strip()
        while (inner := re.search(r"\$\(([^()]*)\)", line)) is not None:
            line = f"{line[: inner.start()]}{self._line(inner[1]).strip()}{line[inner.end() :]}"
        line = re.sub(r"\$(\w+)", lambda found: self.environment.get(found[1], ""), line)
        if not line:
            return ""
        if line.startswith("export "):
            self.environment |= dict(each.split("=", 1) for each in shlex.split(line)[1:])
            return ""
        if line.startswith("eval "):
            return "".join(map(self._line, shlex.split(line)[1].splitlines()))
        command, _, target = line.partition(" > ")
        words = shlex.split(command)
        more = dict(each.split("=", 1) for each in _taken(words))
        if words[0] == "eddy":
            said = self._eddy(words[1:], {**self.environment, **more})
        elif line.startswith(SIGNING):
            said = self._sign(words[3:])
        elif words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
            self.patch.chdir(self.folder)
            return ""
        else:
            return self._shell(line)
        if target:
            (self.folder / target.strip()).write_text(said)
            return ""
        return said

    def _eddy(self, arguments: list[str], environment: dict[str, str]) -> str:
        done = CliRunner().invoke(app, _expanded(arguments), env=environment)
        if done.exit_code:
            raise Failed(f"$ eddy {' '.join(arguments)}\n{done.output}\n{done.exception!r}")
        return str(done.stdout)

    def _sign(self, arguments: list[str]) -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            if signing.main(_expanded(arguments)):
                raise Failed(f"$ {SIGNING}{' '.join(arguments)}")
        return said.getvalue()

    def _shell(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Failed(f"$ {line}\n{done.stdout}{done.stderr}")
        return done.stdout

    def _serve(self, settings: ServerSettings, reloader: Any, has_file: bool, beside: Any, as_json: bool) -> None:
        """Serve for a moment, as the command would until it is ended, on a port of its own."""
        del has_file, as_json, beside
        self.served.append(settings)
        with Server(replace(settings, host="127.0.0.1", port=0), reloader=reloader).background():
            pass


def _taken(words: list[str]) -> list[str]:
    """Assignments before a command, taken away."""
    found = []
    while words and re.match(r"\w+=", words[0]):
        found.append(words.pop(0))
    return found


def _expanded(arguments: list[str]) -> list[str]:
    """Arguments with what a shell would find for stars."""
    return [name for each in arguments for name in (sorted(glob.glob(each)) or [each] if "*" in each else [each])]


def until(is_so: Callable[[], Any], patience_s: float = 60.0) -> Any:
    """What is asked for, once it is there."""
    end_s = time.monotonic() + patience_s
    while not (found := is_so()):
        assert time.monotonic() < end_s
        time.sleep(0.05)
    return found
