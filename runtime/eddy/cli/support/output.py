# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How the `eddy` command speaks: tables that fit 80 columns, one JSON value on request, errors in one line.

Results go to standard output, everything else to standard error, so that `eddy ... --json | jq` always works.
Rich is imported where a table is drawn, not before: `eddy --help` stays light.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import typer

from eddy.cli.support.installed import not_installed
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.units import format_bytes, format_duration, format_size
from eddy.host import logs
from eddy.host.distribution import find_extra
from eddy.host.signals import Stopped

OK, FAILED, USAGE, UNREACHABLE, REFUSED, BOARD, STORAGE = 0, 1, 2, 3, 4, 5, 6
"""Exit codes: done; a job or a check failed; arguments, files or settings here are wrong; nothing answers; the server
refused; the board failed; the data folder cannot be used."""

_STEERS = re.compile(r"\r(?!\n)|[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for tabs and ends of lines, and what changes the direction in which text is read."""
_EXIT_CODES = {
    "server-unreachable": UNREACHABLE,
    "answer-timeout": UNREACHABLE,
    "pool-unreachable": UNREACHABLE,
    "job-failed": FAILED,
    "wait-timeout": FAILED,
    "board-fault": BOARD,
    "configuration-failed": BOARD,
    "module-fault": BOARD,
    "memory-exhausted": BOARD,
    "board-unreachable": BOARD,
    **dict.fromkeys(
        ("storage-full", "storage-read-only", "storage-damaged", "storage-in-use", "storage-failed"), STORAGE
    ),
    "schema-too-new": STORAGE,
}


def exit_code(error: EddyError) -> int:
    """The exit status an error ends the command with; what a server answered has the `status` of its answer."""
    return _EXIT_CODES.get(error.code, REFUSED if "status" in error.details else USAGE)


def write_error_message(failure: OSError) -> str:
    """What to say of a file, or of standard output, that the system refused."""
    name = f"{failure.filename}: " if failure.filename else "cannot write: "
    return f"eddy: {name}{failure.strerror or failure}"


def print_status(text: str) -> None:
    """One line to standard error."""
    # The line and its end at once: lines of several threads must not run into each other.
    sys.stderr.write(f"{escape_terminal(text)}\n")
    sys.stderr.flush()


def say_damaged(what: str, damaged: Sequence[object]) -> None:
    """Say what is missing from a list, for its records cannot be read; nothing where nothing is."""
    if damaged:
        names = ", ".join(map(str, damaged[:10])) + (" and others" if len(damaged) > 10 else "")
        print_status(
            f"eddy: {len(damaged)} damaged {what} left out: {names}; `eddy doctor` on the server's machine has details"
        )


def escape_terminal(text: str) -> str:
    """A text of somebody else's as a terminal may have it: what would steer the terminal is spelled out."""
    return _STEERS.sub(lambda found: repr(found[0])[1:-1], text)


def to_plain(value: Any) -> Any:
    """`value` with dataclasses, enums and tuples made into what JSON has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: to_plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return to_plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(entry) for entry in value]
    return value


class _JsonOutput:
    """Standard output as it was before libraries' words went to standard error; takes one value."""

    def __init__(self, stream: TextIO, write: Callable[[bytes], int] | None) -> None:
        self._stream, self._write, self._used = stream, write, False

    def write(self, text: str) -> None:
        """Write the value, at once."""
        if self._used:
            raise RuntimeError("a command prints one JSON value")
        self._used = True
        if self._write is None:
            self._stream.write(text)
            self._stream.flush()
            return
        left = text.encode()
        while left:
            left = left[self._write(left) :]


_json_output: _JsonOutput | None = None


@contextmanager
def json_alone(of_server: bool = False) -> Iterator[None]:
    """Standard output is for `print_json` alone; whatever else is written to it goes to standard error.

    Libraries print from C as well, past `sys.stdout`: so it is the descriptor that is turned. Standard output of the
    process itself is not turned back: a library may print as late as in the interpreter's end.

    Args:
        of_server: Whether the program goes on running: a value that cannot be written is then dropped, as its log is.
    """
    global _json_output
    stream = sys.stdout
    if stream is None or _json_output is not None:  # it was closed by whoever started this; a command within a command
        yield
        return
    stream.flush()
    is_the_process_own = _descriptor_of(stream) == STDOUT
    with _turned(to_stay=is_the_process_own) as saved:
        write = (
            (logs.server_outlet(saved).write if of_server else partial(os.write, saved)) if is_the_process_own else None
        )
        _json_output, sys.stdout = _JsonOutput(stream, write), sys.stderr
        try:
            yield
        finally:
            _json_output, sys.stdout = None, stream


STDOUT, STDERR = 1, 2
"""Descriptors."""


def _descriptor_of(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except OSError:  # a stream in memory
        return None


@contextmanager
def _turned(to_stay: bool) -> Iterator[int]:
    """Descriptor 1 leads where 2 does; yields one that leads where 1 did."""
    saved = os.dup(STDOUT)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # standard error is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDOUT)
        os.close(nowhere)
    try:
        yield saved
    finally:
        if not to_stay:
            import ctypes

            ctypes.CDLL(None).fflush(None)  # what C's library holds of what was printed meanwhile
            os.dup2(saved, STDOUT)
        os.close(saved)


def print_json(value: Any) -> None:
    """Exactly one JSON value on standard output, at once: whoever reads it need not wait for the command's end."""
    text = json.dumps(to_plain(value), indent=2, allow_nan=False) + "\n"
    if _json_output is not None:
        _json_output.write(text)
    elif sys.stdout is not None:
        raise RuntimeError(
            "standard output is not for JSON alone: the command's --json is not of eddy.cli.support.options"
        )


def print_exports(values: Mapping[str, str], as_json: bool) -> None:
    """Print environment variables for a shell to evaluate, or as an object."""
    if as_json:
        print_json(dict(values))
        return
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")


def refuse_endless(option: str, given: bool) -> None:
    """Refuse an option that prints on and on beside --json.

    Raises:
        InvalidRequest: It was given.
    """
    if given:
        message = (
            f"--json prints one value, and {option} has no end: take `--format json`, which prints a value a line."
        )
        raise InvalidRequest(message, field="json")


@contextmanager
def errors_in_one_line(as_json: bool = False) -> Iterator[None]:
    """Turn an error of Eddy into one line on standard error (one JSON object with `as_json`) and an exit code."""
    try:
        yield
    except ModuleNotFoundError as missing:
        extra = find_extra(missing.name)
        if extra is None:
            raise
        raise _ended(not_installed(missing, extra), as_json) from None
    except EddyError as error:
        raise _ended(error, as_json) from None
    except KeyboardInterrupt as stop:
        print_status("eddy: interrupted")
        raise typer.Exit(128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)) from None
    except BrokenPipeError:  # whoever read what was printed has seen enough
        raise
    except OSError as failure:
        print_status(write_error_message(failure))
        raise typer.Exit(USAGE) from None


def _ended(error: EddyError, as_json: bool) -> typer.Exit:
    """Say an error; answers what ends the command."""
    if as_json:
        document = {"code": error.code, "detail": error.message, **to_plain(error.details)}
        print(json.dumps(document, default=str), file=sys.stderr)
    else:
        print_status(
            f"eddy: {error.message}{allowed_words(error)}{_key_hint() if error.code == 'unauthorized' else ''}"
        )
    return typer.Exit(exit_code(error))


def _key_hint() -> str:
    """Where a key comes from, and whose was taken."""
    taken = " EDDY_KEY is set, and is used where --key is not given." if os.environ.get("EDDY_KEY") else ""
    own = "The operator's of a server that you run is in operator.key in its data folder."
    return f"{taken} `eddy login` keeps a key, and --key after a command gives one. {own}"


def write_text(path: Path, text: str) -> None:
    """Write a file a command was told to write, with the folders above it.

    Raises:
        InvalidRequest: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}", field=str(path)) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file a command was told to write, with the folders above it.

    Raises:
        InvalidRequest: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}", field=str(path)) from None


def allowed_words(error: EddyError) -> str:
    """What is allowed, in brackets, where the message does not say it already."""
    allowed = error.details.get("allowed")
    if not allowed:
        return ""
    if isinstance(allowed, dict):  # bounds by name, which the message words; a pattern is nothing for people
        words = {name: value for name, value in allowed.items() if name != "pattern"}
        allowed = [value for value in words.values() if str(value) not in error.message]
    text = ", ".join(map(str, allowed)) if isinstance(allowed, (list, tuple)) else str(allowed)
    if isinstance(allowed, int) and (text in error.message or format_bytes(allowed) in error.message):
        return ""
    return "" if not text or text in error.message else f" (allowed: {text})"


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, the key of its value, whether it lines up on the right, whether it goes on in
    further lines where there is no room: then the others keep theirs; and whether it is never cut, because it is
    typed again."""

    title: str
    key: str
    right: bool = False
    folds: bool = False
    whole: bool = False


def format_age(unix_s: float, now_unix_s: float) -> str:
    """How long ago it was, by wall time: one unit."""
    passed_s = max(now_unix_s - unix_s, 0.0)
    for bound_s, unit_s, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if passed_s < bound_s:
            return f"{int(passed_s // unit_s)} {unit}"
    return f"{int(passed_s // 86_400)} d"


def table_width() -> int:
    """Columns a table has: the terminal's, or 80 off a terminal."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else 80


def table(title: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table no wider than the terminal, and never wider than 80 columns off a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=table_width(), highlight=False)
    drawn = Table(
        title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    drawn.show_edge, drawn.pad_edge = False, False
    for column in columns:
        drawn.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold" if column.folds else "ellipsis",
            no_wrap=not column.folds,
            min_width=max((len(_cell(row.get(column.key))) for row in rows), default=0) if column.whole else None,
        )
    for row in rows:
        drawn.add_row(*(Text(_cell(row.get(column.key))) for column in columns))
    console.print(drawn)


def print_facts(facts: Mapping[str, Any]) -> None:
    """What is known of one thing, a line each, in the units that the end of a name states."""
    for name, value in facts.items():
        ending = next((each for each in _UNITS if name.endswith(each)), "")
        said = _cell(value)
        if ending and value is not None:
            said = _UNITS[ending](value)
        elif isinstance(value, Mapping):
            said = ", ".join(f"{_cell(key)}: {_cell(each)}" for key, each in value.items()) or "-"
        elif isinstance(value, list | tuple):
            said = ", ".join(map(_cell, value)) or "-"
        print(f"{name.removesuffix(ending).replace('_', ' '):<16}{said}")


def _utc(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(unix_s))


_UNITS: dict[str, Callable[[Any], str]] = {
    "_unix_s": _utc,
    "_bytes": format_size,
    "_seconds": format_duration,
    "_s": format_duration,
}
"""By the end of a name, how its value is printed."""


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape_terminal(str(value)).replace("\n", "\\n").replace("\t", "\\t")
