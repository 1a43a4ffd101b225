# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `eddy` command's tree, and processes of its commands whose libraries print where they must not."""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import typer


def root_command() -> Any:
    """`eddy` itself."""
    from eddy.cli.main import app

    root: Any = typer.main.get_command(app)
    root.list_commands(None)  # with those of the studies
    return root


def commands(root: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group of commands below one, with the words that name it."""
    if path:
        yield path, root
    for name, command in getattr(root, "commands", {}).items():
        yield from commands(command, (*path, name))


def takes_json(command: Any) -> bool:
    """Whether it has the option."""
    return any("--json" in parameter.opts for parameter in command.params)


def print_noise() -> None:
    """What a library may print: by Python, past it, by C's library into its buffer, and from a process of its own."""
    print("NOISE of Python")
    os.write(1, b"NOISE of the descriptor\n")
    ctypes.CDLL(None).puts(b"NOISE of C")
    subprocess.run(["echo", "NOISE of a process"], check=True)


def print_quick_noise() -> None:
    """The same without a process."""
    os.write(1, b"NOISE of the descriptor\n")
    ctypes.CDLL(None).puts(b"NOISE of C")


def print_noise_from(here: Callable[[], None]) -> None:
    """Call `here` as soon as descriptor 1 leads elsewhere than now, and as the interpreter ends."""
    before = os.fstat(1)

    def watch() -> None:
        while os.fstat(1).st_ino == before.st_ino:
            time.sleep(1e-4)
        here()

    threading.Thread(target=watch, daemon=True).start()
    atexit.register(here)


def run_noisily(arguments: Sequence[str]) -> None:
    """Run a command line as `eddy` does, with noise from the moment at which --json is read; never returns."""
    from eddy.__main__ import main

    sys.argv = ["eddy", *arguments]
    print_noise_from(print_quick_noise)
    main()


def run_in_place_of(root: Any, path: Sequence[str]) -> None:
    """Run a command of the tree with a body that prints noise and one value."""
    from eddy.cli.support.output import print_json

    command = root
    for name in path:
        command = command.commands[name]
    for parameter in command.params:
        parameter.required = False
        parameter.expose_value = False

    def body(**_: Any) -> None:
        atexit.register(print_quick_noise)
        print_noise()
        print_json({"command": list(path)})
        print_quick_noise()

    command.callback = body
    root([*path, "--json"], standalone_mode=False)


def in_a_child(act: Callable[[], None], stops: bool = False, given: str = "") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `act`, called in a fork that ends as an interpreter does.

    Args:
        act: What the child does.
        stops: It serves until SIGTERM, which it gets after its first words on standard output.
    """
    with tempfile.TemporaryFile() as into, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        into.write(given.encode())
        into.seek(0)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.dup2(into.fileno(), 0)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the one before has read ahead
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            act()
            sys.exit()
        while stops and os.fstat(out.fileno()).st_size == 0 and os.waitid(os.P_PID, child, ENDED) is None:
            time.sleep(0.05)
        if stops:
            time.sleep(0.2)  # for what it might print after its value
            os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode()


ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT


IMPORTED = ("eddy.cli.main", "eddy.api.service.server", "eddy.client", "eddy.pool.head.head_server")
"""What commands import, most of it; each would by itself."""


class Commands:
    """A process that runs command lines in forks of itself: each has an interpreter's end, none its beginning."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command, given = [sys.executable, __file__, "run"], {**os.environ, **environment}
        self._process = subprocess.Popen(command, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, arguments: Sequence[str], stops: bool, given: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a command line; as `in_a_child` has them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([list(arguments), stops, given]), file=self._process.stdin, flush=True)
        code, out, err = json.loads(self._process.stdout.readline())
        return int(code), str(out), str(err)


def _serve_forks() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # what is there when a fork begins is not searched for garbage when it ends
    for line in sys.stdin:
        arguments, stops, given = json.loads(line)
        print(json.dumps(in_a_child(partial(run_noisily, arguments), stops, given)), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        _serve_forks()
    else:
        tree = root_command()
        gc.freeze()
        paths = [path for path, command in commands(tree) if takes_json(command)]
        print(json.dumps([(path, *in_a_child(partial(run_in_place_of, tree, path))) for path in paths]))
