# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every request has a name, which its answer and every line of the log about it have too; an answer, whatever happens;
and one line of the log when it ends. Answers are counted here; metrics are gathered when they are asked for."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eddy.api.http import problems
from eddy.api.http.current_request import AT_END, caller_in_use, key_in_use
from eddy.host.logs import REQUEST_ID_HEADER, count_lost_lines, request_id


class _LogLines(Collector):
    """What the log of this process lost."""

    def collect(self) -> Iterator[Metric]:
        """The figure of this moment."""
        text = "Lines of the log that could not be written, since the start."
        yield CounterMetricFamily("eddy_log_lines_lost", text, value=count_lost_lines())


class Metrics:
    """The registry of one server.

    Args:
        figures: What is read at each scrape.
    """

    def __init__(self, figures: Collector) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(figures)
        self._registry.register(_LogLines())
        labels = ["method", "route", "status"]
        self.requests = Counter("eddy_http_requests", "Answered requests.", labels, registry=self._registry)
        self.latency = Histogram(
            "eddy_http_request_seconds",
            "Wall time to the first byte of the answer.",
            labels[:2],
            registry=self._registry,
        )

        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """Found again without a look at labels, of which there are as many as routes, methods and statuses."""

    def count_answer(self, scope: Scope, status: int, took_s: float) -> None:
        """Count an answer by method, template of the route and status; `took_s` are wall seconds to its first byte."""
        found = scope.get("route")
        method, route = ("any", "none") if found is None else (scope["method"], getattr(found, "path", "none"))
        known = self._known.get((method, route, status))
        if known is None:
            known = self.requests.labels(method, route, str(status)), self.latency.labels(method, route)
            self._known[method, route, status] = known
        known[0].inc()
        known[1].observe(took_s)

    def render(self) -> tuple[bytes, str]:
        """The exposition and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


HEADER = REQUEST_ID_HEADER.encode()
_FIT = re.compile(rb"[A-Za-z0-9._:/+=~-]{1,64}")
"""What is taken over from a client: nothing that could break a line of the log, or pass for another field."""
_QUIET = ("/healthz", "/readyz", "/metrics")
"""What is asked for again and again, and is not logged where it went well."""
_log = logging.getLogger("eddy.access")


class RequestLogMiddleware:
    """Names every request, counts how it was answered, says so in the log, and answers for whatever breaks off: with
    500 what no route foresaw, with 503 what the server's end cancels.

    Starlette's own handler of errors answers too, but raises again, and the server logs the same traceback twice.

    Args:
        metrics: Counts answers by method, route and status.
        ending: Set once the server ends.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, ending: asyncio.Event) -> None:
        self._app, self._metrics, self._ending = app, metrics, ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, under the client's name for it where that is fit, else under a random one."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name, start_s, begun = _named(scope) or secrets.token_hex(8).encode(), time.perf_counter(), False
        token, line = request_id.set(name.decode()), _Line(start_s) if logged() else None
        caller_in_use.set(None)  # whoever asked before on this connection
        scope[AT_END] = []

        async def named(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), (HEADER, name)]
                self._metrics.count_answer(scope, message["status"], time.perf_counter() - start_s)
                if line is not None:
                    line.note_answer(message)
            await send(message)

        try:
            await self._app(scope, receive, named)
        except ClientDisconnect:  # nobody is left to be answered
            pass
        except asyncio.CancelledError:
            if not self._ending.is_set():
                raise
            if not begun:
                await _stopped(scope, receive, named)
        except Exception as failure:
            answer = problems.of_unforeseen(Request(scope), failure)
            if not begun:  # else nothing but closing the connection can tell the client now; the server does
                await answer(scope, receive, named)
        finally:
            for call in scope.pop(AT_END):
                call()
            if line is not None:
                line.write_line(scope)
            request_id.reset(token)


async def _stopped(scope: Scope, receive: Receive, send: Send) -> None:
    detail = "The server was stopped before this was done; ask again once it is back."
    await problems.respond(Request(scope), "server-stopping", detail, {"Connection": "close"})(scope, receive, send)


def _named(scope: Scope) -> bytes:
    """The client's name for a request; b"" for none, or one that is unfit."""
    given = [value for header, value in scope["headers"] if header == HEADER]
    return given[0] if len(given) == 1 and _FIT.fullmatch(given[0]) else b""


class _Line:
    """What is said of one request: not its query, its headers or its body."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._status, self._location = 0, ""

    def note_answer(self, message: Message) -> None:
        """Note how it was answered."""
        self._status = message["status"]
        if self._status == 202:
            self._location = next((v.decode() for n, v in message["headers"] if n == b"location"), "")

    def write_line(self, scope: Scope) -> None:
        """Write the line; status 0 is a connection that went before its answer."""
        log_request(scope["method"], scope["path"], self._status, time.perf_counter() - self._start_s, self._location)


def logged() -> bool:
    """Whether the log has lines of requests."""
    return _log.isEnabledFor(logging.INFO)


def log_request(method: str, path: str, status: int, took_s: float, location: str) -> None:
    """Write the line of a request into the log.

    Args:
        status: How it was answered; 0 where its connection went before that.
        took_s: Wall seconds to the end of its answer.
        location: Where what it made is found, or "".
    """
    if path in _QUIET and status < 500:
        return
    facts: dict[str, object] = {"status": status, "ms": round(took_s * 1e3, 1)}
    caller = caller_in_use.get()
    if caller is not None:
        facts["tenant"], facts["key"] = caller.id, key_in_use.get()
    _, jobs, job = location.rpartition("/v1/jobs/")
    if jobs:
        facts["job"] = int(job) if job.isdecimal() else job
    _log.info("%s %s", method, path, extra=facts)
