"""The short way through a submission: from a head that was read at one glance to the bytes of its answer.

The framework's way through a request costs several times what is then done for a submission, and submissions come by
the thousand. So one that comes as nearly all do is checked here, by the functions its route calls, and waits for the
disk without a task. Whatever is uncommon about it (another way to log in, a key that has ended, a body that is refused,
a kernel to compile) is left to the route, which also finds the words for what is wrong: nothing has been counted or
kept by then.
"""

from __future__ import annotations

import contextvars
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any, NamedTuple, TypeVar

from fastapi import FastAPI, Request, Response
from pydantic import ValidationError

from eddy.api import in_flight, problems
from eddy.api.bodies import UnfitValue, parse
from eddy.api.context import Context, charge, known_by
from eddy.api.keys import caller_in_use, key_in_use
from eddy.api.progress import check_asked
from eddy.api.requests import logged, say
from eddy.api.routes.jobs import answer, check_priority
from eddy.api.schemas import Job
from eddy.api.short_head import SubmissionHead
from eddy.api.submissions import JobSubmission
from eddy.core.errors import EddyError
from eddy.core.records import JobRecord, JobRequest
from eddy.core.tenants import ApiKey, TenantRecord
from eddy.logs import REQUEST_ID_HEADER, request_id

T = TypeVar("T")
PATH = "/v1/jobs"
_ACCEPTED = b"HTTP/1.1 202 Accepted\r\n"
_write: Callable[[Job], bytes] = Job.__pydantic_serializer__.to_json


class WrittenAnswer(NamedTuple):
    """An answer, as the connection writes it.

    Attributes:
        line: Status line.
        fields: Header lines, without those every answer has.
        body: The body.
    """

    line: bytes
    fields: bytes
    body: bytes


Send = Callable[[WrittenAnswer], None]


class RequestNames:
    """Random names for requests; drawn many at a time, since each draw is a call of the system."""

    MANY = 256

    def __init__(self) -> None:
        self._left: list[bytes] = []

    def next(self) -> bytes:
        """One more."""
        if not self._left:
            drawn = os.urandom(8 * self.MANY).hex().encode()
            self._left = [drawn[begin : begin + 16] for begin in range(0, len(drawn), 16)]
        return self._left.pop()


@dataclass(slots=True)
class PendingSubmission:
    """A submission that waits for its answer.

    Attributes:
        name: Of the request.
        key: What it came with.
        tenant: Who asked.
        send: Takes the answer.
        scope: Has what takes it off the count of requests under way.
        began_s: When it came.
    """

    name: bytes
    key: ApiKey
    tenant: TenantRecord
    send: Send
    scope: dict[str, Any] = field(default_factory=dict)
    began_s: float = field(default_factory=time.perf_counter)

    def within(self, call: Callable[..., T], *arguments: object) -> T:
        """Call something that the log is to know as part of this request."""
        return contextvars.copy_context().run(self._noted, call, *arguments)

    def _noted(self, call: Callable[..., T], *arguments: object) -> T:
        request_id.set(self.name.decode())
        caller_in_use.set(self.tenant)
        key_in_use.set(self.key.id)
        return call(*arguments)


class ShortWay:
    """Answers submissions of one server.

    Args:
        app: The application, whose route takes what is uncommon.
        model: The body of a submission.
    """

    def __init__(self, app: FastAPI, model: type[JobSubmission]) -> None:
        self._app, self._model, self._names = app, model, RequestNames()

    @property
    def _context(self) -> Context:
        context: Context = self._app.state.context
        return context

    @property
    def most_bytes(self) -> int:
        """Of a body."""
        return self._context.settings.max_body_bytes

    def take(self, head: SubmissionHead, body: bytes, send: Send) -> bool:
        """Submit what came; answers whether it does: where not, nothing has happened.

        Args:
            head: Of the request.
            body: The whole of it.
            send: Called once, later, with the answer.
        """
        context = self._context
        if context.failure or not context.ready or context.ending.is_set():
            return False
        found = self._read(head, body)
        if found is None:
            return False
        key, tenant, request = found
        if not context.hypervisor.takes_at_once(request):
            return False
        asked = PendingSubmission(head.name or self._names.next(), key, tenant, send)
        in_flight.begin(asked.scope)
        try:
            charge(context, tenant, asked.scope)
        except EddyError:
            in_flight.end(asked.scope)
            return False
        context.hypervisor.submit_soon(request, partial(self._answer, asked))
        return True

    def _read(self, head: SubmissionHead, body: bytes) -> tuple[ApiKey, TenantRecord, JobRequest] | None:
        """Who asks for what; None where anything of it is uncommon, or refused."""
        context = self._context
        try:
            key, tenant = known_by(context, "POST", PATH, head.credential)
            submission = self._model.model_validate(parse(body))
            view = submission.check_kind(context.kinds)
            if view.lingers:
                return None
            check_priority(tenant, submission.priority)
            check_asked(context.store, context.hypervisor.price, tenant.id, submission.min_progress, kernel=False)
        except (EddyError, JSONDecodeError, UnfitValue, ValidationError):
            return None
        return key, tenant, submission.request(tenant.id, head.idempotency_key, view, context.store.numbers)

    def _answer(self, asked: PendingSubmission, outcome: JobRecord | Exception) -> None:
        in_flight.end(asked.scope)
        written, status = self._written(asked, outcome)
        took_s = time.perf_counter() - asked.began_s
        self._app.state.metrics.answered("POST", PATH, status, took_s)
        asked.send(written)
        if logged():
            location = self._location(outcome) if isinstance(outcome, JobRecord) else ""
            asked.within(say, "POST", PATH, status, took_s, location)

    def _written(self, asked: PendingSubmission, outcome: JobRecord | Exception) -> tuple[WrittenAnswer, int]:
        """The answer, and its status."""
        if isinstance(outcome, JobRecord):
            try:
                return self._accepted(asked, outcome), 202
            except Exception as failure:
                outcome = failure
        scope = {"type": "http", "app": self._app, "method": "POST", "path": PATH, "query_string": b"", "headers": []}
        response = asked.within(problems.of_failure, Request(scope), outcome)
        return _as_written(response, asked.name), response.status_code

    def _accepted(self, asked: PendingSubmission, record: JobRecord) -> WrittenAnswer:
        body = _write(answer(self._context, record))
        fields = (
            b"content-length: %d\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
            b"location: %b\r\nx-request-id: %b\r\n"
        )
        return WrittenAnswer(_ACCEPTED, fields % (len(body), self._location(record).encode(), asked.name), body)

    def _location(self, record: JobRecord) -> str:
        return f"{PATH}/{self._context.store.numbers.job.told(record.id)}"


def _as_written(response: Response, name: bytes) -> WrittenAnswer:
    """An answer of the framework, as the connection writes it."""
    status = response.status_code
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    fields = [*response.raw_headers, (REQUEST_ID_HEADER.encode(), name)]
    return WrittenAnswer(line, b"".join(b"%b: %b\r\n" % field for field in fields), bytes(response.body))
