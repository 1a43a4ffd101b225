# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A receiver of webhooks: a real HTTP server that keeps what it got and answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_S = 60.0


class Receiver:
    """What came, and what is answered.

    Attributes:
        got: Headers, by names in small letters, and body of each request.
        answers: Status codes for the next requests; 204 for those beyond.
        gate: Requests wait here; cleared, the receiver is slow.
        location: Where a redirection leads to.
    """

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.location = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.got]

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, args=[0.02], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.gate.wait(PATIENCE_S)
            receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, "it never held"
        time.sleep(0.01)
