# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Types the commands of a page in this process: `eddy` and the signing tool are called, a shell does the rest.

A command of its own process takes a second to load Eddy; here a page takes a second in all. What goes on behind the
lines that follow (`eddy boardd`, `eddy gateway`, heads and servers of a pool) is a process all the same, a fork. Who
types may do all that root may; `systemctl` only writes down what was asked of it.
"""

from __future__ import annotations

import contextlib
import glob
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.board.images import signing
from eddy.cli.main import app
from forks_kit import Fork, forks
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from doc_session import READY, Block, read_blocks  # noqa: E402 - of the folder of tools

PAGES = sorted([*(ROOT / "docs/how-to").glob("*.md"), *(ROOT / "docs/tutorials").glob("*.md")])
SIGNING = "python -m eddy.board.images.signing "
_COMMENT = re.compile(r"\s+#\s.*$")
_GOES_ON = re.compile(r"(boardd|gateway|pool up|pool serve|serve --pool)( |$)")
_PATIENCE_S = 180.0


def blocks(page: str) -> list[Block]:
    """The blocks of a page, in order."""
    (path,) = [each for each in PAGES if each.stem == page]
    return read_blocks(path)


def text_of(page: str, at: int) -> str:
    """A block of a page."""
    return blocks(page)[at].text


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
        managed: What `systemctl` was told, a list a time.
        ongoing: What goes on behind the lines that follow, with its log.
    """

    folder: Path
    environment: dict[str, str]
    patch: pytest.MonkeyPatch
    served: list[ServerSettings] = field(default_factory=list)
    managed: list[list[str]] = field(default_factory=list)
    ongoing: list[tuple[Fork, Path]] = field(default_factory=list)

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

    def end(self) -> None:
        """End what goes on, in good order and the last first."""
        while self.ongoing:
            fork, log = self.ongoing.pop()
            fork.send_signal(signal.SIGTERM)
            assert fork.wait(_PATIENCE_S) in (0, 128 + signal.SIGTERM), log.read_text()
            assert "Traceback" not in log.read_text()

    def _line(self, line: str) -> str:
        line = re.sub("^sudo (-u [a-z]+ )?", "", line).removesuffix("&").strip()
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
        elif words[0] == "systemctl":
            self.managed.append(words[1:])
            return ""
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
        arguments = [re.sub("^~(?=/)", environment.get("HOME", "~"), each) for each in _expanded(arguments)]
        if _GOES_ON.match(" ".join(arguments)):
            return self._go_on(arguments, environment)
        done = CliRunner().invoke(app, arguments, env=environment)
        if done.exit_code:
            raise Failed(f"$ eddy {' '.join(arguments)}\n{done.output}\n{done.exception!r}")
        return str(done.stdout)

    def _go_on(self, arguments: list[str], environment: dict[str, str]) -> str:
        log = self.folder / f"going-on-{time.monotonic_ns()}.log"
        log.touch()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            fork = forks().start(["eddy", *arguments], log)
        self.ongoing.append((fork, log))
        until(lambda: fork.poll() is not None or READY.search(log.read_text()), _PATIENCE_S)
        if fork.poll() is not None:
            raise Failed(f"$ eddy {' '.join(arguments)}\n{log.read_text()}")
        return ""

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


@dataclass
class Desk:
    """A terminal, and the pages that are typed there.

    Attributes:
        folder: Where it begins.
    """

    typist: Typist
    folder: Path

    def typed(self, page: str, at: int, *swaps: tuple[str, str]) -> str:
        """Type a block of a page, with what stands for things that are not here; what it prints."""
        text = text_of(page, at)
        for old, new in swaps:
            assert old in text, (page, at, old)
            text = text.replace(old, new)
        return self.typist.type(text)

    def asked(self, *arguments: str) -> Any:
        """What a command answers as JSON."""
        return json.loads(self.typist._eddy([*arguments, "--json"], self.typist.environment))

    def program(self, page: str, at: int, *swaps: tuple[str, str]) -> None:
        """Run a program of a page where it stands, with what stands for things that are not here."""
        text = text_of(page, at)
        for old, new in swaps:
            assert old in text, (page, at, old)
            text = text.replace(old, new)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.typist.environment.items():
                if name.startswith("EDDY_"):
                    patch.setenv(name, value)
            exec(compile(text, f"{page}.md", "exec"), {"__name__": "__main__"})


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
