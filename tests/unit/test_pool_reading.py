"""A bucket is read to the last entry its leader knew of, whatever the server of the watch says."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.pool import reading
from nats.js.kv import KeyValue


def entry(revision: int) -> Any:
    return KeyValue.Entry("jobs", str(revision), b"x", revision, 0, 0, None)


class Watch:
    """What a server tells of a bucket, and then nothing more."""

    def __init__(self, told: list[Any]) -> None:
        self._told, self.stopped, self._sub = iter(told), False, SimpleNamespace(_consumer="c")

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Any:
        for each in self._told:
            return each
        await asyncio.Event().wait()

    async def stop(self) -> None:
        self.stopped = True


def read(told: list[Any], last: int, messages: int | None = None) -> tuple[list[int | None], Watch]:
    """Revisions up to the mark, or up to the end of patience."""
    watch = Watch(told)

    async def forgotten(stream: str, consumer: str) -> None:
        assert (stream, consumer, watch.stopped) == ("KV_jobs", "c", True)

    class Bucket:
        async def status(self) -> Any:
            state = SimpleNamespace(last_seq=last, messages=last if messages is None else messages)
            return SimpleNamespace(stream_info=SimpleNamespace(state=state))

        async def watch(self, keys: str, inactive_threshold: float) -> Watch:
            assert (keys, inactive_threshold > 0) == (">", True)
            return watch

        _stream = "KV_jobs"
        _js = SimpleNamespace(delete_consumer=forgotten)

    async def whole() -> list[int | None]:
        found: list[int | None] = []
        async with contextlib.aclosing(reading.entries(Bucket())) as entries:  # type: ignore[arg-type]
            async for each in entries:
                found.append(None if each is None else each.revision)
                if each is None:
                    break
        return found

    return asyncio.run(whole()), watch


def test_a_server_that_has_not_caught_up_does_not_end_the_list() -> None:
    found, watch = read([None, entry(3), entry(4), None, entry(9)], last=9)
    assert found == [3, 4, 9, None]
    assert watch.stopped


def test_an_empty_bucket_is_read_at_once() -> None:
    assert read([], last=0)[0] == [None]
    assert read([], last=7, messages=0)[0] == [None]


def test_a_change_made_since_ends_the_list_as_well() -> None:
    assert read([entry(2), entry(12)], last=9)[0] == [2, 12, None]


def test_entries_that_never_come_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.01)
    with pytest.raises(TimeoutError):
        read([None, entry(3)], last=9)
