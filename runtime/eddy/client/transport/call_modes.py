# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calls of the server written once, for threads and for event loops.

`call` turns a method that makes an operation into one that a `BlockingCaller` client calls and an `AwaitingCaller`
client awaits.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from eddy.client.transport.operations import Operation, T

if TYPE_CHECKING:
    from eddy.client.transport.async_transport import AsyncTransport
    from eddy.client.transport.exchange import Exchange
    from eddy.client.transport.transport import Transport

P = ParamSpec("P")
S = TypeVar("S")
"""What a blocking client answers; mostly what an awaiting one does."""
V = TypeVar("V")
"""What the operation returns, which an awaiting client answers."""


class Caller:
    """Whoever has a server to call."""

    transport: Exchange


class BlockingCaller(Caller):
    """Whoever carries operations out in its thread."""

    transport: Transport


class AwaitingCaller(Caller):
    """Whoever carries operations out in an event loop."""

    transport: AsyncTransport


class ClientMethod(Generic[P, S, V]):
    """A method that is called on a `BlockingCaller` object and awaited on an `AwaitingCaller` one.

    Args:
        steps: Makes the operation; the first parameter is the object.
        finish: What a blocking object answers: it gets the object, what the operation returned, and the positional
            arguments.
    """

    def __init__(
        self,
        steps: Callable[Concatenate[Any, P], Operation[V]],
        finish: Callable[[Any, V, tuple[Any, ...]], S],
    ) -> None:
        self.steps = steps
        self.__doc__ = steps.__doc__

        @wraps(steps)
        def blocking(caller: BlockingCaller, *args: P.args, **kwargs: P.kwargs) -> S:
            return finish(caller, caller.transport.run(steps(caller, *args, **kwargs)), args)

        @wraps(steps)
        async def awaiting(caller: AwaitingCaller, *args: P.args, **kwargs: P.kwargs) -> V:
            return await caller.transport.run(steps(caller, *args, **kwargs))

        self._blocking, self._awaiting = _introduced(blocking, finish), _introduced(awaiting)

    @overload
    def __get__(self, caller: BlockingCaller, owner: type) -> Callable[P, S]: ...
    @overload
    def __get__(self, caller: AwaitingCaller, owner: type) -> Callable[P, Coroutine[Any, Any, V]]: ...
    @overload
    def __get__(self, caller: None, owner: type[BlockingCaller]) -> Callable[Concatenate[Any, P], S]: ...
    @overload
    def __get__(
        self, caller: None, owner: type[AwaitingCaller]
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, V]]: ...
    @overload
    def __get__(self, caller: None, owner: type) -> ClientMethod[P, S, V]: ...
    def __get__(self, caller: BlockingCaller | AwaitingCaller | None, owner: type) -> Any:
        function = self._blocking if issubclass(owner, BlockingCaller) else self._awaiting
        if caller is not None:
            return MethodType(function, caller)
        return function if issubclass(owner, (BlockingCaller, AwaitingCaller)) else self


def call(steps: Callable[Concatenate[Any, P], Operation[T]]) -> ClientMethod[P, T, T]:
    """A call that answers what its operation returns."""
    return ClientMethod(steps, _as_it_is)


def call_with_handle(
    finish: Callable[[Any, V, tuple[Any, ...]], S],
) -> Callable[[Callable[Concatenate[Any, P], Operation[V]]], ClientMethod[P, S, V]]:
    """A call that answers a handle where it blocks; see `ClientMethod` for `finish`."""

    def decorate(steps: Callable[Concatenate[Any, P], Operation[V]]) -> ClientMethod[P, S, V]:
        return ClientMethod(steps, finish)

    return decorate


def _as_it_is(caller: object, answer: T, given: tuple[Any, ...]) -> T:
    return answer


def _introduced(function: Callable[..., Any], finish: Callable[..., Any] = _as_it_is) -> Callable[..., Any]:
    """The function, with the signature that `help` shows: it answers the value, not the operation.

    Annotations are text here, as everywhere in this package.
    """
    shown = inspect.signature(function)
    answer = re.sub(r"^Operation\[(.*)\]$", r"\1", str(shown.return_annotation))
    if finish is not _as_it_is:
        answer = str(inspect.signature(finish).return_annotation)
    del function.__wrapped__  # type: ignore[attr-defined]
    function.__signature__ = shown.replace(return_annotation=answer)  # type: ignore[attr-defined]
    function.__annotations__ = {**function.__annotations__, "return": answer}
    return function
