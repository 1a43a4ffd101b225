# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One source for both clients: an operation is run, awaited, and shown to `help` alike."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import anyio
import httpx
import pytest
from eddy.client import AsyncClient, Client, Job, ServerUnreachable
from eddy.client.calls.blob_calls import PART_BYTES
from eddy.client.calls.job_calls import JobCalls
from eddy.client.transport.call_modes import ClientMethod
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import PauseOperation, SendOperation
from eddy.client.transport.stream import StreamFollower


def exchange(retries: int = 2) -> Exchange:
    return Exchange("http://eddy", "key", 30.0, retries)


def test_an_operation_says_what_it_does_without_doing_it() -> None:
    """No transport: the steps of a request that is refused a connection, told to wait, and answered."""
    operation = exchange().send_request("GET", "/v1/jobs/1", params={"wait": 2.0})
    send = next(operation)
    assert isinstance(send, SendOperation)
    assert (send.method, send.path, send.params, send.content) == ("GET", "/v1/jobs/1", {"wait": 2.0}, None)
    assert isinstance(operation.send(httpx.ConnectError("refused")), PauseOperation)
    assert operation.send(None) == send
    assert isinstance(operation.send(httpx.Response(503)), PauseOperation)
    assert operation.send(None) == send
    with pytest.raises(StopIteration) as done:
        operation.send(httpx.Response(200, text="here"))
    assert done.value.value.text == "here"


def test_a_request_that_was_taken_and_takes_its_time_is_not_sent_twice() -> None:
    operation = exchange().send_request("POST", "/v1/jobs", body={}, answer_s=9.0)
    send = next(operation)
    assert isinstance(send, SendOperation)
    assert (send.answer_s, send.content, send.headers["Content-Type"]) == (9.0, b"{}", "application/json")
    with pytest.raises(ServerUnreachable, match="within 9 s"):
        operation.send(httpx.ReadTimeout("silence"))


def test_help_shows_what_a_call_answers() -> None:
    assert str(inspect.signature(Client.submit)).endswith("-> 'Job'")
    assert str(inspect.signature(AsyncClient.submit)).endswith("-> 'answers.Job'")
    assert str(inspect.signature(Client.blobs)) == "(self) -> 'Listing[answers.Blob]'"
    with Client("http://eddy", "k") as client:
        assert list(inspect.signature(client.show).parameters) == ["job", "wait_s", "while_state"]
        assert inspect.getdoc(client.show) == inspect.getdoc(AsyncClient.show)
    assert inspect.iscoroutinefunction(AsyncClient.show)
    assert not inspect.iscoroutinefunction(Client.show)
    assert isinstance(JobCalls.show, ClientMethod), "belongs to neither client"


@pytest.mark.parametrize("size", [PART_BYTES, PART_BYTES + 1])
def test_both_clients_send_a_large_blob_in_parts(size: int) -> None:
    sent: list[tuple[str, str, int]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.append((request.method, request.url.path[-7:], len(request.content)))
        if request.method == "HEAD":
            return httpx.Response(404)
        offset = int(request.headers.get("Upload-Offset", 0)) + len(request.content)
        return httpx.Response(201 if offset == size else 204, headers={"Upload-Offset": str(offset)})

    transport, data = httpx.MockTransport(handler), bytes(size)
    with Client("http://eddy", "k", http=transport) as client:
        name = client.put_blob(data)
    wanted, sent[:] = sent[:], []

    async def awaited() -> str:
        async with AsyncClient("http://eddy", "k", http=transport) as client:
            return await client.put_blob(data)

    assert anyio.run(awaited) == name
    assert sent == wanted
    assert [length for method, _, length in sent if method != "HEAD"] == (
        [size] if size == PART_BYTES else [size - 1, 1]
    )


def test_both_clients_follow_across_a_broken_stream() -> None:
    texts: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("Last-Event-ID"))
        return httpx.Response(200, text=texts.pop(0))

    def begin() -> None:
        asked.clear()
        texts[:] = [
            "id: 9\nevent: a\ndata: {}\n\nid: 3\nevent: torn",
            "id: 4\nevent: b\ndata: {}\n\nevent: end\ndata: {}\n\n",
        ]

    asked: list[str | None] = []
    http = httpx.MockTransport(handler)
    begin()
    with Client("http://eddy", "k", http=http) as client:
        client.transport.pause = lambda seconds: None
        kinds = [event.kind for event in Job(client, {"id": 1}).events()]  # type: ignore[typeddict-item]
    assert (kinds, asked) == (["a", "b"], [None, "9"])

    async def awaited() -> list[str]:
        async def pause(seconds: float) -> None:
            assert seconds > 0

        async with AsyncClient("http://eddy", "k", http=http) as client:
            client.transport.pause = pause
            return [event.kind async for event in client.events(1)]

    begin()
    assert anyio.run(awaited) == kinds
    assert asked == [None, "9"]


def test_a_stream_is_given_up_after_as_many_breaks_as_a_request() -> None:
    following = StreamFollower(exchange(retries=1), -1)
    lines: Iterator[str] = iter(["event: a", "data: {}", ""])
    assert following.reconnect_delay_s(None) > 0
    assert [event.kind for line in lines if (event := following.line(line))] == ["a"]
    assert following.reconnect_delay_s(None) > 0, "an event came between"
    with pytest.raises(ServerUnreachable):
        following.reconnect_delay_s(None)
