# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One request, tried until it is answered: what makes the client's retries safe, in one place.

Every request of the client may be sent twice without harm: reads change nothing, a blob is named by its hash,
cancelling twice is cancelling, and a submission carries an `Idempotency-Key`. So a request that met no answer, or a
`503`, is repeated with growing pauses; where several addresses are given (heads of one pool), at the next one. Here is
what is sent and when; `transport` and `async_transport` send it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import httpx

from eddy.client.transport.errors import AnswerTimeout, ServerUnreachable, from_problem
from eddy.client.transport.operations import Operation, PauseOperation, SendOperation
from eddy.client.transport.request_values import address, bearer_key, json_body

T = TypeVar("T")

_CODES = {401: "unauthorized", 404: "not-found", 409: "conflict", 429: "quota-exceeded"}
"""For answers without a body, as those to HEAD are."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Exchange:
    """A server, a key, and how requests are tried again; sends nothing itself.

    Args:
        url: Where the hypervisor answers; `http://` may be left out. Several, with commas between, for heads of a pool:
            the first that answers is kept to until it does not.
        key: Bearer token, or "" for the open routes only.
        timeout_s: Wall time one try may take.
        retries: Tries beyond the first.

    Raises:
        InvalidRequest: The URL is none, or the key cannot be sent.
    """

    def __init__(self, url: str, key: str, timeout_s: float, retries: int) -> None:
        self._addresses = [address(each) for each in url.split(",")]
        self.timeout_s = timeout_s
        self.retries = retries
        self._headers = {"Authorization": f"Bearer {bearer_key(key)}"} if key else {}

    @property
    def url(self) -> str:
        """Where requests go at present."""
        return self._addresses[0]

    def use_next_address(self) -> None:
        """Ask the next address from now on, where there is more than one."""
        self._addresses.append(self._addresses.pop(0))

    def settings(self) -> dict[str, Any]:
        """What an httpx client is made with."""
        # Certificates are read for HTTPS alone: that takes as long as a dozen requests.
        encrypted = any(each.startswith("https:") for each in self._addresses)
        return {"headers": self._headers, "timeout": self.timeout_s, "verify": encrypted}

    def arguments(self, send: SendOperation) -> dict[str, Any]:
        """What httpx's `request` takes for one try."""
        waits = httpx.USE_CLIENT_DEFAULT if send.answer_s is None else self.long_timeout(send.answer_s)
        return {
            **{"method": send.method, "url": self.url + send.path, "params": send.params},
            **{"content": send.content, "headers": dict(send.headers), "timeout": waits},
        }

    def long_timeout(self, read_s: float) -> httpx.Timeout:
        """Wall times of a request whose answer may be silent for so long."""
        return httpx.Timeout(self.timeout_s, read=read_s)

    def send_request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        retries: int | None = None,
        answer_s: float | None = None,
    ) -> Operation[httpx.Response]:
        """Send until answered; `body` goes as JSON, `content` as bytes; `retries` overrides the transport's.

        With `answer_s` the answer may take so long, and a request that was taken is not sent a second time.

        Raises:
            EddyError: The server refused it; the class is that of the problem's code.
            ServerUnreachable: Nothing answered.
            AnswerTimeout: The server took the request, and did not answer it in time.
        """
        sent = dict(headers or {})
        if body is not None:
            content = json_body(body)
            sent["Content-Type"] = "application/json"
        send = SendOperation(method, path, params, content, sent, answer_s)
        retries = self.retries if retries is None else retries
        for attempt in range(retries + 1):
            last = attempt == retries
            came = yield send
            if isinstance(came, httpx.Response):
                if came.status_code < 400:
                    return came
                if came.status_code != 503 or last:
                    raise self.problem(came)
            elif last or _speaks_no_tls(came) or (answer_s is not None and isinstance(came, httpx.ReadTimeout)):
                raise self.unreachable(came, answer_s) from came
            self.use_next_address()
            yield PauseOperation(self.pause_s(attempt))
        raise AssertionError("the loop above returns or raises")

    def read_answer(self, kind: type[T], method: str, path: str, **arguments: Any) -> Operation[T]:
        """Ask for what the page says is answered: `kind` is a type of `eddy.client.answers`; see `send_request`."""
        return cast(T, (yield from self.send_request(method, path, **arguments)).json())

    def unreachable(self, failure: Exception, answer_s: float | None = None) -> ServerUnreachable:
        """The error that says where nothing answered, or nothing in time, and what to do."""
        if isinstance(failure, httpx.ReadTimeout):
            waited_s = self.timeout_s if answer_s is None else answer_s
            setting = "EDDY_HTTP_TIMEOUT_S" if answer_s is None else "Client(submit_timeout_s=...)"
            return AnswerTimeout(
                f"{self.url} took the request and did not answer within {waited_s:g} s. It is busy: try again later, or"
                f" wait longer with {setting}.",
                url=self.url,
                timeout_s=waited_s,
            )
        if _speaks_no_tls(failure):
            plain = self.url.replace("https://", "http://", 1)
            message = f"What answers at {self.url} does not use TLS. Set EDDY_URL, or give --url, as {plain}."
            return ServerUnreachable(message, url=self.url, allowed=plain)
        return ServerUnreachable(
            f"Nothing answers at {self.url}{_system_reason(failure)}. Start it with `eddy serve`, or set EDDY_URL.",
            url=self.url,
        )

    @staticmethod
    def pause_s(attempt: int) -> float:
        """Pause after try `attempt`: doubling, bounded, with jitter so that many clients do not come back at once."""
        bound: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**attempt)
        return bound * (0.5 + random.random() / 2)

    def problem(self, answer: httpx.Response) -> Exception:
        """The error an answer of 400 or more stands for."""
        try:
            document = answer.json()
        except ValueError:
            document = None
        if not isinstance(document, dict) or "code" not in document:
            code = _CODES.get(answer.status_code, "api-error")
            detail = f"The server answered {answer.status_code} to {answer.request.method} {answer.request.url.path}."
            document = {"code": code, "detail": detail}
        if document["code"] == "unauthorized" and not self._headers:
            document = {**document, "detail": "No key was sent: set EDDY_KEY, or give it as Client(url, key)."}
        if answer.status_code == 404 and _NOTHING_THERE in str(document.get("detail")) and _of_pool(answer):
            document = {**document, "detail": f"{self.url} is no head of a pool; `eddy pool serve` starts one."}
        return from_problem(answer.status_code, document)


_NOTHING_THERE = "There is nothing at"
"""How a server begins that has no such address."""


def _of_pool(answer: httpx.Response) -> bool:
    return answer.request.url.path.startswith("/v1/pool")


def _speaks_no_tls(failure: Exception) -> bool:
    """Whether a connection for https:// was answered in plain HTTP: OpenSSL reads it as a version of TLS."""
    return isinstance(failure, httpx.ConnectError) and "WRONG_VERSION_NUMBER" in str(failure)


def _system_reason(failure: Exception) -> str:
    """What the system says of a connection that failed, in brackets; "" for nothing."""
    said = str(failure)
    return f" ({said})" if said else ""
