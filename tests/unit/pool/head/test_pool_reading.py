# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A bucket is read to the last entry its leader knew of, whatever the server of the watch says."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.pool.jetstream import bucket_reader
from nats.js.errors import NotFoundError
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


def read(
    told: list[Any], last: int, messages: int | None = None, there: int | None = None
) -> tuple[list[int | None], Watch]:
    """Revisions up to the mark, or up to the end of patience; `there` is the last entry that is not gone by then."""
    watch = Watch(told)

    async def forgotten(stream: str, consumer: str) -> None:
        assert (stream, consumer, watch.stopped) == ("KV_jobs", "c", True)

    async def last_there(stream: str, subject: str) -> Any:
        assert (stream, subject) == ("KV_jobs", "$KV.jobs.>")
        if there == 0:
            raise NotFoundError(code=404)
        return SimpleNamespace(seq=last if there is None else there)

    async def confirm_stream(stream: str) -> Any:
        assert stream == "KV_jobs"
        return SimpleNamespace(state=SimpleNamespace(last_seq=last, messages=last if messages is None else messages))

    class Bucket:
        async def watch(self, keys: str, inactive_threshold: float) -> Watch:
            assert (keys, inactive_threshold > 0) == (">", True)
            return watch

        _stream, _pre = "KV_jobs", "$KV.jobs."
        _js = SimpleNamespace(delete_consumer=forgotten, get_last_msg=last_there, confirm_stream=confirm_stream)

    async def whole() -> list[int | None]:
        found: list[int | None] = []
        async with contextlib.aclosing(bucket_reader.entries(Bucket())) as entries:  # type: ignore[arg-type]
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
    monkeypatch.setattr(bucket_reader, "PATIENCE_S", 0.01)
    monkeypatch.setattr(bucket_reader, "LOOK_S", 0.02)
    with pytest.raises(TimeoutError):
        read([None, entry(3)], last=9)


@pytest.mark.parametrize(("told", "there"), [([entry(3)], 3), ([], 0), ([entry(5)], 5)])
def test_what_was_last_may_be_gone_by_then(monkeypatch: pytest.MonkeyPatch, told: list[Any], there: int) -> None:
    """Marks of what was deleted are taken away in time; a reader that waited for one would wait for ever."""
    monkeypatch.setattr(bucket_reader, "LOOK_S", 0.02)
    assert read(told, last=9, there=there)[0] == [*(each.revision for each in told), None]
