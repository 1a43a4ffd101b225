"""One request, tried until it is answered: what makes the client's retries safe, in one place.

Every request of the client may be sent twice without harm: reads change nothing, a blob is named by its hash,
cancelling twice is cancelling, and a submission carries an `Idempotency-Key`. So a request that met no answer, or a
`503`, is repeated with growing pauses.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import httpx

from eddy.client.errors import AnswerTimeout, ServerUnreachable, from_problem
from eddy.client.sendable import address, bearer_key, json_body

T = TypeVar("T")

_CODES = {401: "unauthorized", 404: "not-found", 409: "conflict", 429: "quota-exceeded"}
"""For answers without a body, as those to HEAD are."""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Transport:
    """HTTP with a key, retries and typed errors.

    Args:
        url: Where the hypervisor answers; `http://` may be left out.
        key: Bearer token, or "" for the open routes only.
        timeout_s: Wall time one try may take.
        retries: Tries beyond the first.
        http: An httpx transport to use instead of sockets (tests).
        pause: Called with the seconds to wait between tries.

    Raises:
        InvalidRequest: The URL is none, or the key cannot be sent.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout_s: float = 30.0,
        retries: int = 4,
        http: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = address(url)
        self.retries = retries
        self.pause = pause
        headers = {"Authorization": f"Bearer {bearer_key(key)}"} if key else {}
        # Certificates are read for HTTPS alone: that takes as long as a dozen requests.
        encrypted = self.url.startswith("https:")
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, transport=http, verify=encrypted
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
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
    ) -> httpx.Response:
        """Send until answered; `body` goes as JSON, `content` as bytes; `retries` overrides the transport's.

        With `answer_s` the answer may take so long, and a request that was taken is not sent a second time.

        Raises:
            EddyError: The server refused it; the class is that of the problem's code.
            ServerUnreachable: Nothing answered.
            AnswerTimeout: The server took the request, and did not answer it in time.
        """
        waits = (
            httpx.USE_CLIENT_DEFAULT if answer_s is None else httpx.Timeout(self._http.timeout.connect, read=answer_s)
        )
        sent = dict(headers or {})
        if body is not None:
            content = json_body(body)
            sent["Content-Type"] = "application/json"
        retries = self.retries if retries is None else retries
        for attempt in range(retries + 1):
            last = attempt == retries
            try:
                answer = self._http.request(method, path, params=params, content=content, headers=sent, timeout=waits)
            except httpx.TransportError as failure:
                if last or (answer_s is not None and isinstance(failure, httpx.ReadTimeout)):
                    raise self.unreachable(failure, answer_s) from failure
            else:
                if answer.status_code != 503 or last:
                    return self._checked(answer)
            self.pause(self.pause_s(attempt))
        raise AssertionError("the loop above returns or raises")

    def json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Ask for a JSON object; see `request`."""
        answer: dict[str, Any] = self.request(method, path, **arguments).json()
        return answer

    def answer(self, kind: type[T], method: str, path: str, **arguments: Any) -> T:
        """Ask for what the page says is answered: `kind` is a type of `eddy.client.answers`; see `request`."""
        return cast(T, self.json(method, path, **arguments))

    def stream(self, path: str, headers: Mapping[str, str], read_timeout_s: float) -> Any:
        """Open a stream of lines; a context manager that yields an `httpx.Response`."""
        timeout = httpx.Timeout(self._http.timeout.connect, read=read_timeout_s)
        return self._http.stream("GET", path, headers=dict(headers), timeout=timeout)

    def unreachable(self, failure: Exception, answer_s: float | None = None) -> ServerUnreachable:
        """The error that says where nothing answered, or nothing in time, and what to do."""
        if isinstance(failure, httpx.ReadTimeout):
            waited_s = self._http.timeout.read if answer_s is None else answer_s
            setting = "EDDY_HTTP_TIMEOUT_S" if answer_s is None else "Client(submit_timeout_s=...)"
            return AnswerTimeout(
                f"{self.url} took the request and did not answer within {waited_s:g} s. It is busy: try again later, or"
                f" wait longer with {setting}.",
                url=self.url,
                timeout_s=waited_s,
            )
        return ServerUnreachable(
            f"Nothing answers at {self.url} ({type(failure).__name__}). Start it with `eddy serve`, or set EDDY_URL.",
            url=self.url,
        )

    @staticmethod
    def pause_s(attempt: int) -> float:
        """Pause after try `attempt`: doubling, bounded, with jitter so that many clients do not come back at once."""
        bound: float = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0**attempt)
        return bound * (0.5 + random.random() / 2)

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code < 400:
            return answer
        raise self.problem(answer)

    @staticmethod
    def problem(answer: httpx.Response) -> Exception:
        """The error an answer of 400 or more stands for."""
        try:
            document = answer.json()
        except ValueError:
            document = None
        if not isinstance(document, dict) or "code" not in document:
            code = _CODES.get(answer.status_code, "api-error")
            detail = f"The server answered {answer.status_code} to {answer.request.method} {answer.request.url.path}."
            document = {"code": code, "detail": detail}
        return from_problem(answer.status_code, document)
