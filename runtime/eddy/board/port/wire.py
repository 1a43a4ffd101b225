# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board port on a byte stream: frames, and values of the port's types as JSON.

A frame is two 32-bit lengths in network order, then that much JSON, then that much payload. Payloads carry the bytes
of `read` and `write`; everything else is JSON. The calls, their arguments and results are those of `BoardPort`, read
from its annotations, so the wire cannot drift from the port. Nothing is evaluated or unpickled: a value that is not
of the annotated type is refused.

::

    client                                       boardd
    {"hello": "eddy-board", "protocol": 8}  ->
                                            <-   {"hello": "eddy-board", "protocol": 8, "instance": "5f0c...", "pid": 7}
    {"call": "load", "args": {"slot": 0, "image": "ab..."}}  ->
                                            <-   {"result": null}   or   {"error": {"code", "message", "details"}}
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import json
import struct
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eddy.board.port.port import BoardPort
from eddy.core import errors
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.units import format_bytes

PROTOCOL = 8
"""Changes when an old client would misunderstand a new boardd, or the other way round."""
NAME = "eddy-board"
CHUNK = 8 << 20
"""Longest piece of memory one call moves; adapters split longer ones."""
_LOCAL = frozenset({"release"})
"""Calls of the port that concern the caller's own end: a client that leaves must not close the slots of the next."""
LENGTHS = struct.Struct(">II")
"""Of a frame: its JSON's, and its payload's."""
LIMITS = (4 << 20, CHUNK)
"""Longest JSON and payload of a frame."""
HELLO_LIMITS = (4096, 0)
"""The same of the first one: whoever has not said hello gets no memory to fill."""


@dataclass(frozen=True)
class Frame:
    """One message: a JSON object and raw bytes."""

    head: dict[str, Any]
    payload: bytes = b""

    def encode(self) -> bytes:
        """The frame's bytes."""
        head = json.dumps(self.head, separators=(",", ":")).encode()
        return LENGTHS.pack(len(head), len(self.payload)) + head + self.payload


class Decoder:
    """Turns a stream of bytes into frames.

    Args:
        limits: Longest JSON and payload it takes; `limits` may be changed between frames.
    """

    def __init__(self, limits: tuple[int, int] = LIMITS) -> None:
        self.limits = limits
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add what was received."""
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, if there is one.

        Raises:
            InvalidRequest: What came is no frame; the stream cannot be used any further.
        """
        if len(self._buffer) < LENGTHS.size:
            return None
        lengths = LENGTHS.unpack_from(self._buffer)
        if any(length > limit for length, limit in zip(lengths, self.limits, strict=True)):
            raise InvalidRequest(
                f"a frame of {format_bytes(sum(lengths))} is too long", field="frame", allowed=sum(self.limits)
            )
        middle = LENGTHS.size + lengths[0]
        end = middle + lengths[1]
        if len(self._buffer) < end:
            return None
        head = parse(bytes(self._buffer[LENGTHS.size : middle]))
        payload = bytes(self._buffer[middle:end])
        del self._buffer[:end]
        return Frame(head, payload)


def parse(text: bytes) -> dict[str, Any]:
    """A frame's JSON object.

    Raises:
        InvalidRequest: It is none.
    """
    try:
        head = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"a frame does not start with JSON: {error}", field="frame") from error
    except RecursionError as error:
        raise InvalidRequest("a frame's JSON is nested too deep", field="frame") from error
    if not isinstance(head, dict):
        raise InvalidRequest("a frame does not start with a JSON object", field="frame")
    return head


@dataclass(frozen=True)
class Call:
    """One method of the port: its arguments' types and defaults, and its result's type."""

    arguments: Mapping[str, Any]
    defaults: Mapping[str, Any]
    result: Any


@functools.cache
def calls() -> Mapping[str, Call]:
    """Every method of the port that crosses the socket, by name."""
    found = {}
    for name, method in vars(BoardPort).items():
        if name.startswith("_") or name in _LOCAL or not inspect.isfunction(method):
            continue
        hints = typing.get_type_hints(method)
        result = hints.pop("return")
        parameters = inspect.signature(method).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        found[name] = Call(hints, defaults, result)
    return types.MappingProxyType(found)


def to_json(value: Any) -> Any:
    """A value of the port's types as JSON values."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def from_json(kind: Any, value: Any, path: str) -> Any:
    """JSON values as a value of type `kind`.

    Args:
        kind: A type of the port's annotations.
        value: What `json.loads` gave.
        path: Where it stands, for the message.

    Raises:
        InvalidRequest: It is not of that type; names the field.
    """
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else from_json(typing.get_args(kind)[0], value, path)
    if origin is tuple:
        return _tuple(typing.get_args(kind), value, path)
    if kind is type(None):
        kind = type(None)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _dataclass(kind, value, path)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(value)
        except ValueError:
            raise _wrong(kind, value, path) from None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise _wrong(kind, value, path)
    return value


def _tuple(kinds: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _wrong(tuple, value, path)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _wrong(tuple, value, path)
    return tuple(
        from_json(kind, item, f"{path}[{index}]") for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _dataclass(kind: Any, value: dict[str, Any], path: str) -> Any:
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise InvalidRequest(f"{path} has no field {name}", field=f"{path}.{name}", allowed=sorted(hints))
    try:
        return kind(**{name: from_json(hints[name], item, f"{path}.{name}") for name, item in value.items()})
    except TypeError as error:
        raise InvalidRequest(f"{path}: {error}", field=path) from error


def _wrong(kind: Any, value: Any, path: str) -> InvalidRequest:
    name = getattr(kind, "__name__", str(kind))
    return InvalidRequest(f"{path} is {value!r:.80}, not a valid {name}", field=path, allowed=name)


def arguments_of(name: str, given: Any, payload: bytes) -> dict[str, Any]:
    """The arguments of a call as it came in, checked.

    Raises:
        InvalidRequest: No such call, or an argument is missing, unknown or of the wrong type.
    """
    call = calls().get(name) if isinstance(name, str) else None
    if call is None:
        raise InvalidRequest(f"the board port has no call {name!r:.80}", field="call", allowed=sorted(calls()))
    if not isinstance(given, dict):
        raise _wrong(dict, given, "args")
    values = dict(call.defaults)
    for key, kind in call.arguments.items():
        if kind is bytes:
            values[key] = payload
        elif key in given:
            values[key] = from_json(kind, given[key], key)
        elif key not in values:
            raise InvalidRequest(f"{name} needs {key}", field=key)
    unknown = set(given) - set(call.arguments)
    if unknown:
        raise InvalidRequest(f"{name} takes no {', '.join(sorted(unknown))}", field=sorted(unknown)[0])
    return values


def error_to_json(error: EddyError) -> dict[str, Any]:
    """An error of the tree as JSON values."""
    return {"code": error.code, "message": error.message, "details": to_json(error.details)}


@functools.cache
def _error_types() -> Mapping[str, type[EddyError]]:
    found: dict[str, type[EddyError]] = {}
    pending: list[type[EddyError]] = [errors.EddyError]
    while pending:
        kind = pending.pop()
        if "code" in vars(kind):  # one that has its parent's is told as its parent, whose arguments it may not take
            found[kind.code] = kind
        pending += kind.__subclasses__()
    return found


def error_from_json(value: Any) -> EddyError:
    """The error that `error_to_json` took apart; a plain `EddyError` where the code is unknown."""
    if not isinstance(value, dict):
        return EddyError(f"boardd answered with no readable error: {value!r:.80}")
    kind = _error_types().get(str(value.get("code")), EddyError)
    details = value.get("details")
    details = {k: v for k, v in details.items() if k != "message"} if isinstance(details, dict) else {}
    return kind(str(value.get("message")), **details)
