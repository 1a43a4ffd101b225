# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the pool's servers say is understood, whichever of the client's errors says it."""

from __future__ import annotations

import asyncio
import inspect
from unittest.mock import MagicMock

import pytest
from eddy.pool.connection.refusals import NO_STREAM, PoolStreams, code_of, is_stream_missing, translate_refusal
from nats.js import errors

ERRORS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.Error) and kind.__module__ == errors.__name__
]  # fmt: skip


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_the_client_can_be_asked_for_its_code(kind: type[errors.Error]) -> None:
    """Those of keys have none, and not even the attribute."""
    said = kind()
    assert code_of(said) is None
    assert not is_stream_missing(said)
    assert translate_refusal(said).code == "pool-refused"


def test_a_stream_that_is_not_there_is_told_from_a_key_that_is_not() -> None:
    assert is_stream_missing(errors.NotFoundError(code=404, err_code=NO_STREAM))
    assert not is_stream_missing(errors.NotFoundError(code=404, err_code=10037))
    assert not is_stream_missing(errors.ServerError(err_code=NO_STREAM))


def test_those_who_ask_while_an_answer_is_on_its_way_wait_for_the_next_together() -> None:
    """The answer that is on its way may be of before they asked: of a key that was good then, say."""

    async def go() -> None:
        streams, begun, answer = PoolStreams(MagicMock()), list[int](), asyncio.Event()

        async def ask() -> int:
            begun.append(len(begun))
            number = begun[-1]
            await answer.wait()
            if number == 1:
                raise errors.ServerError(code=500)
            return number

        async def asked(what: str = "key") -> int:
            return await streams.ask_together(what, ask)

        first = asyncio.ensure_future(asked())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        later = [asyncio.ensure_future(asked()) for _ in range(5)]
        await asyncio.sleep(0)
        later[0].cancel()
        await asyncio.sleep(0)
        assert begun == [0]
        answer.set()
        assert await first == 0
        told = await asyncio.gather(*later, return_exceptions=True)
        assert [type(each) for each in told] == [asyncio.CancelledError, *(4 * [errors.ServerError])]
        assert [await asked(), await asked("another")] == [2, 3]
        assert begun == [0, 1, 2, 3]
        assert not streams._next
        assert not streams._under_way

    asyncio.run(go())
