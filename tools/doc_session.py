# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Code blocks of a page, and a shell session in which its commands are run one after the other.

Only Python's own library is used: this also runs where nothing but Eddy is installed.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMANDS = re.compile(
    r"(sudo |[A-Z_]+=\S+ )*"
    r"(eddy|export|python3?|pytest|pip|make|cat >|cd|curl|git|kill|mkdir|cp|echo|openssl|systemctl|ssh|scp|\.)"
    r"(?=[\s/]|$)"
)
SERVERS = re.compile(r"eddy (serve|pool serve|pool up|boardd|gateway)\b")
"""Commands that run until they are ended: they go on behind those that follow."""
PATIENCE_S = 3600.0
"""Wall seconds that a block may take: the first builds the simulated board, on a machine that may do other things."""
SAVE = re.compile(r"[Ss]ave this as `([\w./]+)`")
READY = re.compile(r"(serving|listening|serves|listens) on|is up|waits for|gateway to \S+ on port")


@dataclass(frozen=True)
class Block:
    """A code block of a page.

    Attributes:
        line: Where it begins, from 1.
        language: What follows the fence; empty for one that is indented.
        text: What stands in it, without its indent.
        before: The paragraph before it.
    """

    line: int
    language: str
    text: str
    before: str

    @property
    def file(self) -> str:
        """The name it is to be saved by; empty for none."""
        found = SAVE.search(self.before)
        return found[1] if found else ""

    @property
    def is_shell(self) -> bool:
        """Whether it is commands."""
        return self.language in ("", "sh", "bash") and COMMANDS.match(self.text) is not None

    @property
    def is_python(self) -> bool:
        """Whether it is a program that stands alone."""
        return not self.is_shell and re.match(r"(import|from) \w", self.text) is not None


def read_blocks(page: Path) -> list[Block]:
    """The code blocks of a page in Markdown, in order."""
    lines = [*page.read_text(encoding="utf-8").splitlines(), ""]
    found, at, before = [], 0, ""
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next(k for k in range(at + 1, len(lines)) if lines[k].startswith("```"))
            found.append(Block(at + 1, line[3:].strip(), "\n".join(lines[at + 1 : end]), before))
            at = end + 1
        elif line.startswith("    ") and not lines[at - 1].strip():
            end = next((k for k in range(at, len(lines)) if lines[k] and not lines[k].startswith("    ")), len(lines))
            text = "\n".join(each[4:] for each in lines[at:end]).rstrip()
            found.append(Block(at + 1, "", text, before))
            at = end
        else:
            before = (f"{before} {line}" if at and lines[at - 1].strip() else line) if line.strip() else before
            at += 1
    return found


class BlockFailed(Exception):
    """A block of a page did not do what it says; what it printed is in the message."""


class Session:
    """One shell's folder and environment, kept from block to block, and the servers that it started.

    Args:
        folder: Where it begins.
        rewrite: What is made of each command line before it is run; empty leaves it out.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], rewrite: Callable[[str], str] = str) -> None:
        self.folder = folder
        self.environment = dict(environment)
        self.rewrite = rewrite
        self.servers: list[subprocess.Popen[str]] = []

    def run(self, text: str, timeout_s: float = PATIENCE_S) -> str:
        """Run the lines of a block; what they print.

        Raises:
            BlockFailed: One of them failed.
        """
        said = ""
        for command in _joined(text):
            command = self.rewrite(command)
            if SERVERS.match(command.strip()):
                self._start(command.partition(" #")[0].strip().removesuffix("&"))
            elif command.strip():
                said += self._call(command, timeout_s)
        return said

    def python(self, text: str, name: str = "block.py", timeout_s: float = PATIENCE_S) -> str:
        """Save a program, and run it with the Python that `python` is; what it prints."""
        self.save(name, text)
        return self._call(f"python {name}", timeout_s)

    def save(self, name: str, text: str) -> None:
        """Write a file where the session is."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")

    def close(self) -> None:
        """End what it started."""
        while self.servers:
            server = self.servers.pop()
            server.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(60)
            server.kill()
            server.wait()

    def _call(self, command: str, timeout_s: float) -> str:
        kept = self.folder / ".session"
        script = f"{command}\nstatus=$?\npwd > {kept}\nenv -0 >> {kept}\nexit $status"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
        )
        if done.returncode:
            raise BlockFailed(f"$ {command}\n{done.stdout}\nexit {done.returncode}")
        where, _, variables = kept.read_text(encoding="utf-8").partition("\n")
        kept.unlink()
        self.folder = Path(where)
        self.environment = dict(each.split("=", 1) for each in variables.split("\0") if "=" in each)
        return done.stdout

    def _start(self, command: str) -> None:
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.servers.append(server)
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if READY.search(line):
                threading.Thread(target=server.stdout.read, daemon=True).start()  # so that it never waits for a reader
                return
        raise BlockFailed(f"$ {command}\n{''.join(lines)}\nended with {server.wait()}")


def free_port() -> int:
    """A TCP port of this machine that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def open_session(folder: Path, rewrite: Callable[[str], str] = str, **extra: str) -> Iterator[Session]:
    """A session with this interpreter's programs, a port and a home of its own, and none of the caller's settings.

    Args:
        folder: Where it works; its home too.
        rewrite: See `Session`.
        extra: Further variables.
    """
    known = {name: value for name, value in os.environ.items() if not name.startswith(("EDDY_", "PYTHONPATH"))}
    port = str(free_port())
    environment = {
        **known,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{known.get('PATH', '')}",
        "HOME": str(folder),
        "EDDY_PORT": port,
        "EDDY_URL": f"http://127.0.0.1:{port}",
        **extra,
    }
    session = Session(folder, environment, rewrite)
    try:
        yield session
    finally:
        session.close()


def _joined(text: str) -> Iterator[str]:
    """Command lines: one that goes on after a backslash, or up to the end of a here-document, is one."""
    lines = iter(text.splitlines())
    for line in lines:
        command = line
        while command.endswith("\\"):
            command = f"{command[:-1]}{next(lines).strip()}"
        if found := re.search(r"<<'?(\w+)'?", command):
            for more in lines:
                command += f"\n{more}"
                if more == found[1]:
                    break
        yield command
