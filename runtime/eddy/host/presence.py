# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a command finds the server this user runs on this machine: a file in its data directory, locked while it serves.

The lock ends with the process, however it ends, so a file that was left behind is known to be stale: the operator's key
must never be sent to whoever took the port afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

FILE = "serving.json"
KEY_FILE = "operator.key"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@contextlib.contextmanager
def announce_server(data: Path, url: str) -> Iterator[bool]:
    """Say in a data directory that a server answers at a URL, while the block runs; where that fails, do without.

    Yields:
        Whether the server before left its own word behind: it died, or the power was lost."""
    try:
        descriptor = os.open(data / FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield False
        return
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            died = bool(file.read(1))
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"url": url, "pid": os.getpid()}) + "\n")
            file.flush()
        except OSError:
            yield False
            return
        try:
            yield died
        finally:
            with contextlib.suppress(OSError):
                (data / FILE).unlink()


def find_server_url(data: Path) -> str:
    """The URL of the server that runs over a data directory of this user's; "" where none does."""
    if not (data / FILE).is_file():  # a named pipe would keep us waiting
        return ""
    try:
        with (data / FILE).open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:  # a server holds it
                return str(json.load(file)["url"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return ""


def operator_key(data: Path, url: str) -> str:
    """The operator's key, where the server at a loopback URL is the one that runs over this data directory; else ""."""
    there = find_server_url(data)
    if not there or _place(there) != _place(url):
        return ""
    if not (data / KEY_FILE).is_file():
        return ""
    try:
        return (data / KEY_FILE).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _place(url: str) -> tuple[str, int | None] | str:
    """Host and port; all names of the loopback interface are one, any other host is only itself."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host = parts.hostname or ""
        return ("loopback", parts.port or 80) if host in _LOOPBACK else url
    except ValueError:
        return url
