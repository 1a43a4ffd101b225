# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Values in a declared element type: taken where the type can hold every one of them, refused otherwise.

The one conversion of everything a user gives: inputs and constants of applications, arguments of kernels, files of
`eddy submit`. What a type can hold:

| from | to | taken |
|---|---|---|
| boolean, integer | integer | values within the type's range |
| boolean, integer | floating point, complex | values the type represents exactly |
| floating point | integer | whole values within the type's range; neither NaN nor infinities |
| floating point | floating point, complex | all but finite values beyond the type's largest; others are rounded |
| complex | boolean, integer, floating point | values without an imaginary part, as their real part would be |
| any number | boolean | 0 and 1 |
| structures, text, dates, raw bytes | the same type | all; nothing else is |

Rounding between floating-point types is what numpy calls a cast of the same kind; it includes a tiny value that becomes
zero. Byte order is never part of a value. An array of Python objects is taken as the numbers in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest

Array = npt.NDArray[Any]
_NUMBERS = "biufc"


def convert(values: Any, dtype: npt.DTypeLike, what: str, field: str) -> Array:
    """Values as an array of a declared element type.

    Args:
        values: An array, a number, or nested sequences of numbers.
        dtype: The declared type.
        what: Who declares it, as a sentence begins: "Input 'image'".
        field: Of the request, for the error's details.

    Returns:
        An array of the values' shape and of type `dtype`; the given one where it is that already.

    Raises:
        InvalidRequest: The type cannot hold one of the values; the message names the first, its place, and the range.
            Or they are no array: rows differ in length, or elements are masked.
    """
    try:
        return _converted(_array(values), np.dtype(dtype))
    except _Unfit as unfit:
        place = f" at {list(unfit.place)}" if unfit.place else ""
        allowed = allowed_values(unfit.dtype)
        message = f"{what} has {unfit.value}{place}, which {_name(unfit.dtype)} cannot hold; it takes {allowed}."
    except _NoArray as failure:
        allowed, message = "an array of numbers", f"{what} is {failure}; it takes an array of numbers."
    raise InvalidRequest(message, field=field, allowed=allowed)


def to_little_endian(array: Array | np.generic) -> Array:
    """An array, or a record, in C order and in the byte order of the boards, fields included."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def allowed_values(dtype: np.dtype[Any]) -> str:
    """What a type can hold, in words."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return f"whole numbers from {info.min} to {info.max}"
    if dtype.kind == "b":
        return "0 and 1"
    if dtype.kind in "fc":
        largest = np.finfo(dtype).max
        return (
            f"{'complex ' if dtype.kind == 'c' else ''}numbers from {-largest:.8g} to {largest:.8g}, and integers it"
            f" represents exactly (all up to {2 ** _digits(dtype)})"
        )
    return f"values of {_name(dtype)}"


class _NoArray(Exception):
    """What was given is no array of numbers; says what it is."""


class _Unfit(Exception):
    """A value that a type cannot hold."""

    def __init__(self, value: str, place: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__(value)
        self.value, self.place, self.dtype = value, place, dtype


def _array(values: Any) -> Array:
    """Values as numpy has them, without changing one on the way.

    numpy takes a list with 2**63 and -1 for floating point, which rounds both; such a list is an array of objects here.
    """
    if isinstance(values, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(values)):  # type: ignore[no-untyped-call]
        raise _NoArray("a masked array, whose masked elements have no value")
    if isinstance(values, (np.ndarray, np.generic)):
        return np.asarray(values)
    try:
        found = np.asarray(values)
        if found.dtype.kind in "fc" and bool(np.any(np.abs(found) >= 2.0**53)):
            return np.asarray(values, object)
    except (ValueError, TypeError, OverflowError):
        raise _NoArray(f"{values!r:.60}, whose rows differ in length") from None
    return found


def _converted(given: Array, wanted: np.dtype[Any]) -> Array:
    if given.dtype == wanted:
        return given
    if given.dtype.newbyteorder("=") == wanted.newbyteorder("="):
        return given.astype(wanted)
    if given.dtype.kind == "O" and wanted.kind in _NUMBERS:
        return _objects_converted(given, wanted)
    if given.dtype.kind not in _NUMBERS or wanted.kind not in _NUMBERS:
        raise _Unfit(f"values of {_name(given.dtype)}", (), wanted)
    with np.errstate(all="ignore"):
        wrong = _unfit(given, wanted)
        if wrong.any():
            place = tuple(int(index) for index in np.unravel_index(int(wrong.argmax()), wrong.shape))
            raise _Unfit(f"the value {given[place]}", place, wanted)
        if given.dtype.kind == "c" and wanted.kind != "c":
            given = given.real
        return given.astype(wanted)


def _objects_converted(given: Array, wanted: np.dtype[Any]) -> Array:
    found = np.empty(given.shape, wanted)
    for place in np.ndindex(given.shape):
        found[place] = _object_converted(given[place], place, wanted)
    return found


def _object_converted(value: Any, place: tuple[int, ...], wanted: np.dtype[Any]) -> Any:
    """One Python object as an element of a numeric type."""
    element = np.asarray(value) if isinstance(value, (int, float, complex, np.generic)) else None
    if element is None or element.ndim or element.dtype.kind not in _NUMBERS + "O":
        raise _Unfit(f"the {type(value).__name__} {value!r:.40}", place, wanted)
    if element.dtype.kind != "O":
        try:
            return _converted(element, wanted)[()]
        except _Unfit as unfit:
            raise _Unfit(unfit.value, place, wanted) from None
    try:  # an integer beyond 64 bits, which only floating point may hold
        made = wanted.type(value) if wanted.kind in "fc" else None
        if made is not None and np.isfinite(made) and int(made.real) == value:
            return made
    except OverflowError:
        pass
    raise _Unfit(f"{value:.3e}" if abs(value) < 10**300 else "an integer of that size", place, wanted)


def _unfit(given: Array, wanted: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    """Which of the numbers a numeric type cannot hold."""
    given = given.astype(given.dtype.newbyteorder("="), copy=False)
    if given.dtype.kind == "c":
        if wanted.kind == "c":
            part = np.finfo(wanted).dtype
            return np.asarray(_unfit(given.real, part) | _unfit(given.imag, part))
        return np.asarray((given.imag != 0) | _unfit(given.real, wanted))
    if wanted.kind == "c":
        wanted = np.finfo(wanted).dtype
    if wanted.kind == "b":
        return np.asarray((given != 0) & (given != 1))
    if given.dtype.kind == "f":
        return _float_unfit(given, wanted)
    return _integer_unfit(given, wanted)


def _float_unfit(given: Array, wanted: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    if wanted.kind == "f":
        return np.asarray(np.isfinite(given) & ~np.isfinite(given.astype(wanted)))
    if given.dtype.itemsize < 8:
        given = given.astype(np.float64)  # half precision does not reach the bounds
    info = np.iinfo(wanted)
    below = given.dtype.type(2.0) ** (info.bits - (info.min < 0))  # one more than the largest, which may not be exact
    low = given.dtype.type(info.min)
    return np.asarray(~((given >= low) & (given < below) & (given == np.trunc(given))))


def _integer_unfit(given: Array, wanted: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    """Of booleans and integers."""
    if given.dtype.kind == "b":
        return np.zeros(given.shape, np.bool_)
    source = np.iinfo(given.dtype)
    if wanted.kind in "iu":
        info, wrong = np.iinfo(wanted), np.zeros(given.shape, np.bool_)
        if source.min < info.min:
            wrong |= given < given.dtype.type(info.min)
        if source.max > info.max:
            wrong |= given > given.dtype.type(info.max)
        return wrong
    # Exact are integers whose binary digits, without the zeros they end in, are no more than the type's.
    digits = _digits(wanted)
    if source.bits - (source.min < 0) <= digits:
        return np.zeros(given.shape, np.bool_)
    size = given.astype(np.uint64)
    size = np.where(given < 0, ~size + np.uint64(1), size)
    lowest = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
    wrong = np.zeros(given.shape, np.bool_) if digits >= 64 else np.asarray(size // lowest >= np.uint64(1 << digits))
    return np.asarray(wrong | ~np.isfinite(given.astype(wanted)))


def _digits(dtype: np.dtype[Any]) -> int:
    """Binary digits a floating-point type holds."""
    return int(np.finfo(dtype).nmant) + 1


def _name(dtype: np.dtype[Any]) -> str:
    """A type as people name it, without its byte order."""
    return "text" if dtype.kind in "SU" else str(dtype.newbyteorder("="))
