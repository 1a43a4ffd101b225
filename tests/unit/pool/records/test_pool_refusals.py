# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the pool's servers say is understood, whichever of the client's errors says it."""

from __future__ import annotations

import inspect

import pytest
from eddy.pool.connection.refusals import NO_STREAM, code_of, is_stream_missing, translate_refusal
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
