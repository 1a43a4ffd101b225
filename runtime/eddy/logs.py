"""The log: one line a record on standard error, for people or as JSON, each with the request it belongs to.

A line of JSON has `timestamp` (UTC), `level`, `logger`, `event`, and what else the record has: `request_id`, `job`,
`tenant`, `code`, `path`. Whatever looks like an API key is left out, wherever it stands.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

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


def configure(level: str, form: str) -> None:
    """Have everything that is logged written so, from now on.

    Args:
        level: Least severe level, as `warning`.
        form: `TEXT` or `JSON`.
    """
    global _form
    _form = form
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
    print(render(values, _form), file=sys.stderr, flush=True)


def render(values: Mapping[str, Any], form: str) -> str:
    """Named values as one line (several in text, where there is an exception), without secrets."""
    name = request_id.get()
    whole = {**values, "request_id": name} if name and "request_id" not in values else dict(values)
    return without_secrets(_json(whole) if form == JSON else _text(whole))


def _json(values: Mapping[str, Any]) -> str:
    first = {name: values[name] for name in _FIRST if name in values}
    return json.dumps({**first, **values}, default=str)


def _text(values: Mapping[str, Any]) -> str:
    rest = [f"{name}={value}" for name, value in values.items() if name not in (*_FIRST, "exception")]
    head = f"{values.get('timestamp', '')} {values.get('level', ''):<7} {values.get('event', '')}"
    line = " ".join([head, *rest]).replace("\n", "\\n")
    return f"{line}\n{values['exception']}" if values.get("exception") else line


def without_secrets(text: str) -> str:
    """Text in which what looks like a key is not legible."""
    return _BEARER.sub(r"\1 ***", _KEY.sub("eddy_***", text))


def _utc(unix_s: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix_s))
    return f"{whole}.{int(unix_s % 1 * 1000):03d}Z"
