# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A bucket is read to the last entry its leader knew of, whatever the server of the watch says."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.pool.jetstream import bucket_reader
from nats.js.errors import NotFoundError


class Told:
    """A message of a subscription."""

    def __init__(self, revision: int) -> None:
        at = datetime.datetime.fromtimestamp(revision, datetime.timezone.utc)
        self.subject, self.data, self.header = f"$KV.jobs.{revision}", b"x", None
        self.metadata = SimpleNamespace(sequence=SimpleNamespace(stream=revision), timestamp=at)


class Subscription:
    """What a server tells of a bucket, and then nothing more."""

    def __init__(self) -> None:
        self.stopped, self.begin, self._consumer = False, 0, "c"

    async def unsubscribe(self) -> None:
        self.stopped = True


def read(
    told: list[int], last: int, messages: int | None = None, there: int | None = None, after: int = 0
) -> tuple[list[int | None], Subscription]:
    """Revisions up to the mark, or up to the end of patience; `there` is the last entry that is not gone by then."""
    watch = Subscription()

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

    async def subscribe(subject: str, stream: str, cb: Any, ordered_consumer: bool, config: Any) -> Subscription:
        assert (subject, stream, ordered_consumer) == ("$KV.jobs.>", "KV_jobs", True)
        assert config.inactive_threshold > 0
        watch.begin = config.opt_start_seq
        for revision in told:
            await cb(Told(revision))
        return watch

    class Bucket:
        _name, _stream, _pre = "jobs", "KV_jobs", "$KV.jobs."
        _js = SimpleNamespace(
            delete_consumer=forgotten, get_last_msg=last_there, confirm_stream=confirm_stream, subscribe=subscribe
        )

    async def whole() -> list[int | None]:
        found: list[int | None] = []
        async with contextlib.aclosing(bucket_reader.entries(Bucket(), after)) as entries:  # type: ignore[arg-type]
            async for each in entries:
                found.append(None if each is None else each.revision)
                if each is None:
                    break
        return found

    return asyncio.run(whole()), watch


def test_a_bucket_is_read_to_the_last_that_its_leader_knew_of() -> None:
    found, watch = read([3, 4, 9], last=9)
    assert found == [3, 4, 9, None]
    assert (watch.stopped, watch.begin) == (True, 1)


def test_what_is_known_is_not_read_again() -> None:
    found, watch = read([9], last=9, after=4)
    assert (found, watch.begin) == ([9, None], 5)
    assert read([], last=9, after=9)[0] == [None]
    assert read([], last=4, after=9)[0] == [None]


def test_an_empty_bucket_is_read_at_once() -> None:
    assert read([], last=0)[0] == [None]
    assert read([], last=7, messages=0)[0] == [None]


def test_a_change_made_since_ends_the_list_as_well() -> None:
    assert read([2, 12], last=9)[0] == [2, 12, None]


def test_entries_that_never_come_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_reader, "PATIENCE_S", 0.01)
    monkeypatch.setattr(bucket_reader, "LOOK_S", 0.02)
    with pytest.raises(TimeoutError):
        read([3], last=9)


@pytest.mark.parametrize(("told", "there"), [([3], 3), ([], 0), ([5], 5)])
def test_what_was_last_may_be_gone_by_then(monkeypatch: pytest.MonkeyPatch, told: list[int], there: int) -> None:
    """Marks of what was deleted are taken away in time; a reader that waited for one would wait for ever."""
    monkeypatch.setattr(bucket_reader, "LOOK_S", 0.02)
    assert read(told, last=9, there=there)[0] == [*told, None]
