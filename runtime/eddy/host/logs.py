# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The log: one line a record on standard error, for people or as JSON, each with the request it belongs to.

A line of JSON has `timestamp` (UTC), `level`, `logger`, `event`, and what else the record has: `request_id`, `job`,
`tenant`, `code`, `path`. Whatever looks like an API key is left out, wherever it stands.

Whoever writes to standard error (records, warnings, tracebacks of threads, progress, what a command says) writes
through an `Outlet`: a line that cannot be written, as on a full disk or into a pipe nobody reads, is dropped and
counted, and harms neither an answer nor a start nor an exit status. Once lines can be written again, one says how many
are missing. For a program that goes on running, the same holds of its standard output.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import select
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TextIO

TEXT, JSON = "text", "json"
request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Name of the request under way, in its tasks and threads; "" outside of one."""
REQUEST_ID_HEADER = "x-request-id"
"""Under which answers have it."""
_KEY = re.compile(r"eddy_[A-Za-z0-9_-]{16,}")
_BEARER = re.compile(r"(?i)\b(bearer) +[^\s\"',]+")
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
"""What every record has; the rest was given with `extra`."""
_FIRST = ("timestamp", "level", "logger", "event")
_form = TEXT
PATIENCE_S = 0.2
"""Wall seconds for which a program that goes on running waits for whoever reads its log: once, until lines are taken
again. A reader that stands still must not stop the server."""
_BUFFER_BYTES = 1 << 16
_OUTPUT, _ERROR = 1, 2


class Outlet(io.RawIOBase):
    """A descriptor that lines are written to; those it does not take are dropped and counted, and no error is raised.

    Args:
        says: Whether to say here how many lines were lost, once some are taken again.

    Attributes:
        patience_s: Wall seconds to wait for whoever reads; None for as long as it takes.
        lost: Lines that were dropped so far.
    """

    def __init__(self, descriptor: int, says: bool) -> None:
        super().__init__()
        self._descriptor, self._says = descriptor, says
        self.patience_s: float | None = None
        self.lost = 0
        self._unsaid, self._why, self._torn = 0, "", False
        self.writing = threading.RLock()
        """Held for all of what is written at once: lines of several threads must not run into each other."""

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Write all of some bytes, or drop what is not taken of them; answers how many there were."""
        whole = bytes(data)
        with self.writing:
            left = memoryview(whole)
            try:
                self._begin()
                while left:
                    left = left[self._write_some(left) :]
            except OSError as error:
                self._drop(bytes(left), error)
        return len(whole)

    def _begin(self) -> None:
        """Say what is missing, where something is."""
        if not self._unsaid:
            return
        text = "\n" if self._torn else ""
        if self._says:
            count, why = self._unsaid, self._why
            event = f"{count} line{'s' if count > 1 else ''} of the log could not be written ({why})"
            facts = {"timestamp": _utc(time.time()), "level": "warning", "logger": __name__, "event": event}
            text += f"{render({**facts, 'lines': count}, _form)}\n"
        said = memoryview(text.encode())
        while said:
            said = said[self._write_some(said) :]
        self._unsaid = 0

    def _write_some(self, data: memoryview) -> int:
        """Write the beginning of some bytes; answers how many.

        Raises:
            OSError: They are not taken.
        """
        wait_s = 0.0 if self._unsaid and self.patience_s is not None else self.patience_s
        if not _ready(self._descriptor, wait_s):
            raise TimeoutError("it has no reader")
        written = os.write(self._descriptor, data[: select.PIPE_BUF])  # a pipe that is ready takes these at once
        self._torn = data[written - 1] != ord("\n")
        return written

    def _drop(self, data: bytes, error: OSError) -> None:
        lines = max(data.count(b"\n"), 1)
        self.lost, self._unsaid = self.lost + lines, self._unsaid + lines
        self._why = error.strerror or str(error)


class OutletText(io.TextIOWrapper):
    """Text that goes to an outlet. Each write comes out whole, however long it is: `TextIOWrapper` alone gives it on in
    parts, and those of several threads mix.
    """

    def __init__(self, outlet: Outlet, encoding: str) -> None:
        self._writing = outlet.writing
        buffered = io.BufferedWriter(outlet, _BUFFER_BYTES)
        super().__init__(buffered, encoding, "backslashreplace", line_buffering=True)

    def write(self, text: str) -> int:
        """Write a text; answers how many characters it has."""
        with self._writing:
            return super().write(text)

    def flush(self) -> None:
        """Give on what is kept."""
        with self._writing:
            super().flush()


def _ready(descriptor: int, wait_s: float | None) -> bool:
    """Whether something can be written, or an error be had, within so many wall seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(None if wait_s is None else wait_s * 1e3))


_guards: dict[int, tuple[Outlet, TextIO]] = {}
"""What is written through, by descriptor."""
_lost_elsewhere = 0
"""Records that could not be written to a stream that somebody has put in the place of standard error."""
_writing_elsewhere = threading.RLock()
"""Held by who writes to such a stream."""


def open_streams() -> None:
    """See that the three standard streams are there, before any file is opened; to be called first of all.

    The number of one that is closed would be that of the next file that is opened, the data base say, and what a
    library prints would be written into it. In its place is a device that refuses what is asked of it.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (_OUTPUT, os.O_RDONLY), (_ERROR, os.O_RDONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(_OUTPUT, "w", closefd=False)
    guard_stderr()


def guard_stderr() -> None:
    """Have standard error written through an `Outlet`; not where somebody has put another stream in its place."""
    if sys.stderr is None or _is_own(sys.stderr, _ERROR):
        sys.stderr = _guarded(sys.stderr, _ERROR)


def guard_stdout() -> None:
    """The same of standard output; neither waits long for whoever reads. For a program that goes on running."""
    guard_stderr()
    if _is_own(sys.stdout, _OUTPUT):
        sys.stdout = _guarded(sys.stdout, _OUTPUT)
    for outlet, _ in _guards.values():
        outlet.patience_s = PATIENCE_S


def server_outlet(descriptor: int) -> Outlet:
    """Where a program that goes on running writes what is not its log; it waits no longer for whoever reads."""
    outlet = Outlet(descriptor, says=False)
    outlet.patience_s = PATIENCE_S
    return outlet


def _is_own(stream: TextIO, descriptor: int) -> bool:
    """Whether a stream is the process's own."""
    try:
        return isinstance(stream, io.TextIOWrapper) and stream.fileno() == descriptor
    except (OSError, ValueError):
        return False


def _guarded(stream: TextIO | None, descriptor: int) -> TextIO:
    if descriptor not in _guards:
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
        outlet, encoding = Outlet(descriptor, says=descriptor == _ERROR), "utf-8" if stream is None else stream.encoding
        _guards[descriptor] = outlet, OutletText(outlet, encoding)
    return _guards[descriptor][1]


def count_lost_lines() -> int:
    """Lines that could not be written, since the process began."""
    return _lost_elsewhere + sum(outlet.lost for outlet, _ in _guards.values())


def configure(level: str, form: str) -> None:
    """Have everything that is logged written so, from now on.

    Args:
        level: Least severe level, as `warning`.
        form: `TEXT` or `JSON`.
    """
    global _form
    _form = form
    guard_stderr()
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _Lines)]:
        root.removeHandler(handler)
    root.addHandler(_Lines())
    root.setLevel(level.upper())


class _Lines(logging.Handler):
    """Writes each record to standard error, as that is when something is said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            write(fields(record))
        except Exception:
            self.handleError(record)


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """A record of the standard library as named values."""
    found: dict[str, Any] = {
        "timestamp": _utc(record.created),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": record.getMessage(),
    }
    found.update((name, value) for name, value in vars(record).items() if name not in _OWN)
    if record.exc_info and record.exc_info[1] is not None:
        found["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
    return found


def write(values: Mapping[str, Any]) -> None:
    """Write one line; the request it belongs to is added."""
    write_rendered(render(values, _form))


def write_rendered(text: str) -> None:
    """Write a line to standard error, as that is when something is said. It raises nothing.

    It is one write, with its end: `print` writes that for itself, and the line of another thread comes between.
    """
    global _lost_elsewhere
    stream = sys.stderr
    try:
        with contextlib.nullcontext() if isinstance(stream, OutletText) else _writing_elsewhere:
            stream.write(f"{text}\n")
            stream.flush()
    except (OSError, ValueError):
        _lost_elsewhere += 1


def render(values: Mapping[str, Any], form: str) -> str:
    """Named values as one line (several in text, where there is an exception), without secrets."""
    name = request_id.get()
    whole = {**values, "request_id": name} if name and "request_id" not in values else dict(values)
    return redact_secrets(_json(whole) if form == JSON else _text(whole))


def _json(values: Mapping[str, Any]) -> str:
    first = {name: values[name] for name in _FIRST if name in values}
    return json.dumps({**first, **values}, default=str)


def _text(values: Mapping[str, Any]) -> str:
    rest = [f"{name}={value}" for name, value in values.items() if name not in (*_FIRST, "exception")]
    head = f"{values.get('timestamp', '')} {values.get('level', ''):<7} {values.get('event', '')}"
    line = " ".join([head, *rest]).replace("\n", "\\n")
    return f"{line}\n{values['exception']}" if values.get("exception") else line


def redact_secrets(text: str) -> str:
    """Text in which what looks like a key is not legible."""
    return _BEARER.sub(r"\1 ***", _KEY.sub("eddy_***", text))


def _utc(unix_s: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix_s))
    return f"{whole}.{int(unix_s % 1 * 1000):03d}Z"
