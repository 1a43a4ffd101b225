# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The client without a server: retries, event streams across broken connections, arrays, errors."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx
import numpy as np
import pytest
from eddy.client import ApiError, Client, ServerUnreachable
from eddy.client.calls.job_calls import OutputArrays
from eddy.client.calls.submit_calls import payloads_of
from eddy.client.transport.arrays import ONE_BLOB_BYTES, BufferInfo, blobs, constant, items, output
from eddy.client.transport.errors import from_problem
from eddy.client.transport.stream import parse
from eddy.core import errors

Handler = Callable[[httpx.Request], httpx.Response]
BUFFER = BufferInfo("image", "input", 12, np.dtype("<i2"), (2, 3), False)


def client(handler: Handler, retries: int = 3) -> Client:
    made = Client("http://eddy", "key", retries=retries, http=httpx.MockTransport(handler))
    made.transport.pause = lambda seconds: None
    return made


def test_a_request_without_an_answer_is_repeated_under_the_same_idempotency_key() -> None:
    keys: list[str] = []
    app = {"name": "a", "buffers": []}

    def handler(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=app)
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            raise httpx.ReadTimeout("lost", request=request)
        if len(keys) == 2:
            return httpx.Response(503, json={"code": "board-unreachable", "detail": "not yet"})
        return httpx.Response(202, json={"id": 7, "application": "a", "state": "queued"})

    assert client(handler).submit("a").id == 7
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert client(handler).submit("a").id == 7
    assert len(set(keys)) == 2, "another submission has a key of its own"


def test_a_refusal_is_not_repeated() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        return httpx.Response(409, json={"code": "conflict", "detail": "it has ended", "state": "failed"})

    with pytest.raises(errors.Conflict, match="it has ended") as refused:
        client(handler).cancel(3)
    assert seen == ["/v1/jobs/3"]
    assert (refused.value.details["state"], refused.value.details["status"]) == ("failed", 409)


def test_nobody_there_says_so_after_the_retries() -> None:
    tries: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        tries.append(1)
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(ServerUnreachable, match=r"http://eddy.*eddy serve"):
        client(handler).jobs()
    assert len(tries) == 4


def test_a_list_asks_for_page_after_page_with_the_same_filters() -> None:
    asked: list[list[tuple[str, str]]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(list(request.url.params.multi_items()))
        first = len(asked) == 1
        return httpx.Response(200, json={"jobs": [{"id": len(asked)}], "next": "5.1" if first else None})

    filters: dict[str, Any] = {"labels": {"run": "7", "what": "a=b"}, "submitted_from": 0.0, "sort": "oldest"}
    assert [job["id"] for job in client(handler).jobs(application="a", **filters)] == [1, 2]
    expected = [
        ("application", "a"),
        ("submitted_from", "0.0"),
        ("sort", "oldest"),
        ("label", "run=7"),
        ("label", "what=a=b"),
    ]
    assert asked == [expected, [*expected, ("cursor", "5.1")]]


def test_pauses_grow_and_stay_bounded() -> None:
    from eddy.client.transport.transport import Transport

    for attempt in range(12):
        bound = min(5.0, 0.1 * 2**attempt)
        assert bound / 2 <= Transport.pause_s(attempt) <= bound


def test_every_core_error_comes_back_as_its_class() -> None:
    for kind in (errors.NotFound, errors.QuotaExceeded, errors.MemoryExhausted, errors.Unauthorized):
        error = from_problem(400, {"code": kind.code, "detail": "words", "field": "x"})
        assert type(error) is kind
        assert (error.message, error.details["field"]) == ("words", "x")
    unknown = from_problem(418, {"code": "teapot", "title": "Short and stout"})
    assert type(unknown) is ApiError
    assert (unknown.code, unknown.message) == ("teapot", "Short and stout")
    assert ApiError.code == "api-error"


def test_an_answer_that_is_no_problem_document_is_still_an_error() -> None:
    with pytest.raises(errors.NotFound, match="404"):
        client(lambda request: httpx.Response(404, text="<html>")).show(1)


def test_streams_are_parsed_as_the_standard_says() -> None:
    text = ': hello\nretry: 1000\n\nid: 4\nevent: state\ndata: {"a":\ndata: 1}\n\nevent: lost\n\ndata:{}\n\n'
    found = list(parse(iter(text.splitlines())))
    assert [(event.id, event.kind, event.data) for event in found] == [(4, "state", {"a": 1}), (-1, "message", {})]


class Broken(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("cut")


def test_a_broken_stream_goes_on_where_it_was() -> None:
    """Ids name events and do not grow: the last one counts, not the largest."""
    asked: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Last-Event-ID"))
        if len(asked) == 1:
            text = "id: 9\nevent: a\ndata: {}\n\nid: 2\nevent: b\ndata: {}\n\nid: 3\nevent: torn"
            return httpx.Response(200, stream=Broken(text))
        return httpx.Response(200, text="id: 3\nevent: c\ndata: {}\n\nevent: end\ndata: {}\n\n")

    from eddy.client.transport.stream import follow

    events = list(follow(client(handler).transport, "/v1/jobs/1/events"))
    assert [event.kind for event in events] == ["a", "b", "c"]
    assert asked == [None, "2"]


UNKNOWN = {"code": "unknown-cursor", "detail": "There is no event 2.", "status": 410}


def test_a_stream_whose_last_event_is_not_known_any_more_begins_again_and_says_so() -> None:
    asked: list[str | None] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Last-Event-ID"))
        if len(asked) == 1:
            return httpx.Response(200, stream=Broken("id: 2\nevent: a\ndata: {}\n\n"))
        if asked[-1] is not None:
            return httpx.Response(410, json=UNKNOWN, headers={"Content-Type": "application/problem+json"})
        return httpx.Response(200, text="id: 7\nevent: b\ndata: {}\n\nevent: end\ndata: {}\n\n")

    from eddy.client.transport.stream import RESTARTED, follow

    events = list(follow(client(handler).transport, "/v1/jobs/1/events"))
    assert [event.kind for event in events] == ["a", RESTARTED, "b"]
    assert events[1].data == {"detail": "There is no event 2."}
    assert asked == [None, "2", None]
    with pytest.raises(errors.UnknownCursor, match="no event 2"):
        list(follow(client(handler).transport, "/v1/jobs/1/events", after=2))


def test_a_stream_with_nothing_left_ends() -> None:
    from eddy.client.transport.stream import follow

    assert list(follow(client(lambda request: httpx.Response(204)).transport, "/x", after=9)) == []


def test_a_stream_that_keeps_ending_early_is_given_up() -> None:
    from eddy.client.transport.stream import follow

    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(200, text=": hello\n\n")

    with pytest.raises(ServerUnreachable):
        list(follow(client(handler).transport, "/x"))
    assert len(asked) == 4


def test_every_page_is_fetched_and_a_limit_kept() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        first = int(request.url.params.get("cursor", 7))
        size = min(int(request.url.params.get("limit", 3)), 3)
        jobs = [{"id": number} for number in range(first - 1, max(first - 1 - size, 0), -1)]
        following = str(jobs[-1]["id"]) if jobs and jobs[-1]["id"] > 1 else None
        return httpx.Response(200, json={"jobs": jobs, "next": following})

    assert [job["id"] for job in client(handler).jobs()] == [6, 5, 4, 3, 2, 1]
    assert [job["id"] for job in client(handler).jobs(limit=4)] == [6, 5, 4, 3]


def test_items_are_bytes_of_the_buffers_type() -> None:
    values = np.arange(12).reshape(2, 2, 3)
    parts = items(values, BUFFER, None)
    assert parts == [values[0].astype("<i2").tobytes(), values[1].astype("<i2").tobytes()]
    assert items(values[0], BUFFER, None) == parts[:1]
    np.testing.assert_array_equal(output(b"".join(parts), BUFFER, 2), values)
    assert constant(values[0].tolist(), BUFFER) == parts[0]


@pytest.mark.parametrize(
    ("values", "batch", "says"),
    [
        (np.zeros((2, 3, 2)), None, "shape"),
        (np.zeros((0, 2, 3)), None, "shape"),
        (np.zeros((2, 2, 3)), 3, "3 items"),
        (np.full((1, 2, 3), 40_000), None, "the value 40000 at .* int16 cannot hold"),
        (np.full((1, 2, 3), 0.5), None, "the value 0.5 at .* whole numbers from -32768"),
    ],
)
def test_arrays_that_do_not_fit_say_what_would(values: Any, batch: int | None, says: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=says) as refused:
        items(values, BUFFER, batch)
    assert refused.value.details["field"] == "inputs.image"


def test_an_output_of_another_size_is_refused() -> None:
    with pytest.raises(errors.InvalidRequest, match="23 bytes instead of 24 bytes"):
        output(bytes(23), BUFFER, 2)


def test_large_batches_go_item_by_item() -> None:
    half = bytes(ONE_BLOB_BYTES // 2)
    assert len(blobs([half, half])) == 1
    assert len(blobs([half, half, b"x"])) == 3


def test_a_blob_that_is_there_is_not_sent_again() -> None:
    sent: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        there = request.url.path.endswith("a")
        return httpx.Response(200 if there or request.method == "PUT" else 404, json={})

    api = client(handler)
    names = [api.put_blob(data) for data in (b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7")]
    expected = sum(1 if name.endswith("a") else 2 for name in names)
    assert len(sent) == expected


def test_an_unknown_input_names_the_known_ones() -> None:
    described = {"name": "image", "role": "input", "bytes": 6, "dtype": "u1", "shape": [2, 3], "shipped": False}
    api = client(lambda request: httpx.Response(200, json={"name": "a", "buffers": [described]}))
    with pytest.raises(errors.InvalidRequest) as refused:
        api.submit("a", {"picture": np.zeros((2, 3))})
    assert refused.value.details["allowed"] == ["image"]


@pytest.mark.parametrize(("url", "reads"), [("http://127.0.0.1:8000", 0), ("https://eddy.example", 1)])
def test_certificates_are_read_for_https_alone_and_checked_there(
    monkeypatch: pytest.MonkeyPatch, url: str, reads: int
) -> None:
    made = []
    create = ssl.create_default_context

    def note(*arguments: Any, **named: Any) -> ssl.SSLContext:
        made.append(create(*arguments, **named))
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", note)
    Client(url, "key").close()
    assert [context.verify_mode for context in made if context.verify_mode] == [ssl.CERT_REQUIRED] * reads


def test_another_head_is_asked_where_one_does_not_answer() -> None:
    asked: list[str] = []
    gone = {"a"}

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        if request.url.host in gone:
            raise httpx.ConnectError("refused")
        return httpx.Response(503 if "away" in gone else 200, json={"jobs": [], "next": None})

    with Client("a:1,http://b:2", "k", http=httpx.MockTransport(answer), retries=2) as client:
        client.transport.pause = lambda _: None
        assert client.jobs() == []
        assert client.jobs() == []
        assert asked == ["a", "b", "b"]  # who answered is asked first
        gone.add("b")
        gone.remove("a")
        assert client.jobs() == []
        assert asked[3:] == ["b", "a"]
        gone.add("away")  # a head that says that its pool is away is left, too
        with pytest.raises(ApiError):
            client.jobs()
        assert asked[5:] == ["a", "b", "a"]


def test_a_broken_stream_goes_on_at_another_head() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/events"):
            return httpx.Response(200, json={"id": 1, "application": "x", "state": "queued"})
        asked.append(request.url.host)
        if request.url.host == "a":
            raise httpx.ConnectError("refused")
        return httpx.Response(200, text="id: 1\nevent: queued\ndata: {}\n\nevent: end\ndata: {}\n\n")

    with Client("a:1,b:2", "k", http=httpx.MockTransport(answer)) as client:
        client.transport.pause = lambda _: None
        assert [event.kind for event in client.job(1).events()] == ["queued"]
    assert asked == ["a", "b"]


def test_what_to_do_next_is_said_where_no_key_was_sent_or_no_head_answers() -> None:
    nothing = "There is nothing at /v1/pool; /docs lists what there is."

    def refuse(request: httpx.Request) -> httpx.Response:
        code, detail = ("unauthorized", "Send your key.") if "apps" in request.url.path else ("not-found", nothing)
        return httpx.Response(401 if code == "unauthorized" else 404, json={"code": code, "detail": detail})

    transport = httpx.MockTransport(refuse)
    with pytest.raises(errors.Unauthorized, match=r"set EDDY_KEY, or give it as Client\(url, key\)"):
        Client("http://board", "", http=transport).apps()
    with pytest.raises(errors.Unauthorized, match="Send your key"):
        Client("http://board", "wrong", http=transport).apps()
    with pytest.raises(errors.NotFound, match="no head of a pool; `eddy pool serve` starts one"):
        Client("http://board", "k", http=transport).transport.json("GET", "/v1/pool")


def test_an_array_without_a_name_is_refused_with_the_names() -> None:
    given: Any = np.zeros((2, 3))
    with pytest.raises(errors.InvalidRequest, match=r"give arrays by name: \{'image': array\}"):
        payloads_of({"image": BUFFER}, [given], None)


def test_an_unknown_output_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="there are result, levels"):
        OutputArrays({"result": np.zeros(1), "levels": np.zeros(1)})["resul"]


class _Plain(BaseHTTPRequestHandler):
    """A server that knows no TLS."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def test_https_to_a_server_without_tls_is_told_at_once_with_what_to_give() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Plain) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        where = f"//127.0.0.1:{server.server_address[1]}"
        with Client(f"https:{where}", "key", retries=9) as plain:
            plain.transport.pause = lambda seconds: pytest.fail("it was tried again")
            with pytest.raises(ServerUnreachable) as caught:
                plain.jobs()
        server.shutdown()
    assert "does not use TLS" in caught.value.message
    assert f"http:{where}" in caught.value.message
