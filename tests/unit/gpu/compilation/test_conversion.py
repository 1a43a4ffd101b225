# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Values in a declared type: every pair of types at the bounds of both, against exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.cli.support.inputs import gather
from eddy.client.transport.arrays import BufferInfo, constant, items
from eddy.core.conversion import convert
from eddy.core.errors import InvalidRequest
from eddy.gpu.launches.packed_arguments import PackedArguments
from eddy.gpu.programs.region import RegionSpace
from eddy.gpu.programs.signature import SCALARS, TYPES, Argument, Kernel
from PIL import Image

MASKED: Any = np.ma.array  # numpy has no types for it
WHOLE = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATING = ("f2", "f4", "f8", "g")
COMPLEX = ("c8", "c16", "G")
NUMBERS = ("?", *WHOLE, *FLOATING, *COMPLEX)
BOUNDS = sorted(
    {0, 1, 2, 3}
    | {way * (1 << bits) + step for way in (-1, 1) for bits in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64)
       for step in (-1, 0, 1)}
)  # fmt: skip
"""Whole numbers at the ends of every integer type, and where floating-point types begin to leave some out."""
FRACTIONS = (0.5, -0.5, 1.5, 255.5, -0.0, 5e-324, 65504.0, 65519.0, 65520.0, 3.4028234663852886e38, 3.5e38, 1.7e308)
SPECIAL = (math.nan, math.inf, -math.inf)


def values_of(kind: str) -> list[Any]:
    """Values at the bounds of all types, as far as this one has them."""
    dtype = np.dtype(kind)
    if dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        return [dtype.type(value) for value in BOUNDS if low <= value <= high]
    with np.errstate(all="ignore"):
        real = [np.asarray(float(value)).astype(dtype)[()] for value in (*BOUNDS, *FRACTIONS)]
        real += [dtype.type(value) for value in SPECIAL]
        return real + ([dtype.type(1 + 1j), dtype.type(complex(0, math.nan))] if dtype.kind == "c" else [])


def part_fits(value: Any, kind: np.dtype[Any], exact: bool) -> bool:
    """Whether a real number fits a real type; exact where it may not be rounded."""
    if not np.isfinite(value):
        return kind.kind == "f"
    number = Fraction(*value.as_integer_ratio()) if hasattr(value, "as_integer_ratio") else Fraction(int(value))
    if kind.kind == "b":
        return number in (0, 1)
    if kind.kind in "iu":
        return number.denominator == 1 and int(np.iinfo(kind).min) <= number <= int(np.iinfo(kind).max)
    info = np.finfo(kind)
    largest = Fraction(*info.max.as_integer_ratio())
    if not exact:
        half_a_step = largest / ((1 << (int(info.nmant) + 1)) - 1) / 2
        return abs(number) < largest + half_a_step
    top = abs(number.numerator)
    odd = top // (top & -top) if top else 0
    return abs(number) <= largest and odd < 1 << (int(info.nmant) + 1)


def fits(value: Any, kind: str) -> bool:
    source, target = value.dtype, np.dtype(kind)
    exact = source.kind in "biu"
    if source.kind != "c":
        return part_fits(value, np.finfo(target).dtype if target.kind == "c" else target, exact)
    if target.kind == "c":
        part = np.finfo(target).dtype
        return part_fits(value.real, part, False) and part_fits(value.imag, part, False)
    return bool(value.imag == 0) and part_fits(value.real, target, False)


@pytest.mark.parametrize("source", NUMBERS)
@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_pair_of_types_takes_what_fits_and_nothing_else(source: str, target: str) -> None:
    kept = values_of(source)
    assert len(kept) > 1
    wanted = np.dtype(target)
    for value in kept:
        native = np.array([[0, value]], source)
        forms = [native, native.astype(np.dtype(source).newbyteorder(">")), native.astype(object)]
        for given, order in itertools.product(forms, "<>"):
            if not fits(value, target):
                with pytest.raises(InvalidRequest, match=r"cannot hold; it takes") as refused:
                    convert(given, wanted.newbyteorder(order), "Input", "inputs.x")
                assert " at [0, 1]," in refused.value.message, "the message says which of them"
                assert refused.value.details["field"] == "inputs.x"
                continue
            made = convert(given, wanted.newbyteorder(order), "Input", "inputs.x")
            assert made.dtype == wanted.newbyteorder(order)
            left = value.real if wanted.kind != "c" else value
            want = np.asarray(left).astype(wanted)[()]
            assert made[0, 1] == want or (np.isnan(want) and np.isnan(made[0, 1]))


def test_the_message_names_value_and_range() -> None:
    with pytest.raises(InvalidRequest) as refused:
        convert(np.array([[5, -1]], "i1"), "u1", "Input 'image'", "inputs.image")
    words = "Input 'image' has the value -1 at [0, 1], which uint8 cannot hold; it takes whole numbers from 0 to 255."
    assert refused.value.message == words
    assert refused.value.details["allowed"] == "whole numbers from 0 to 255"


def one_object(thing: object) -> Any:
    return np.array([thing], object)


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize(
    "given",
    [
        *(np.array(["1"], kind) for kind in ("U1", "S1")),
        *(np.array([1], kind) for kind in ("M8[s]", "m8[s]")),
        np.zeros(1, "V1"),
        np.zeros(1, [("a", "u1")]),
        *map(one_object, (None, "1", b"1", {}, 10**400)),
    ],
    ids=repr,
)
def test_what_is_no_number_fits_no_numeric_type(given: Any, target: str) -> None:
    with pytest.raises(InvalidRequest, match="cannot hold"):
        convert(given, target, "Input", "inputs.x")


def test_structures_are_taken_in_either_byte_order_and_in_no_other_form() -> None:
    record = np.array([(1, 2.5)], [("a", ">i4"), ("b", ">f4")])
    made = convert(record, [("a", "<i4"), ("b", "<f4")], "Record", "r")
    assert made.tobytes() == np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f4")]).tobytes()
    for other in ([("a", "<i4"), ("b", "<f8")], [("a", "<i4")], "<f4"):
        with pytest.raises(InvalidRequest, match="cannot hold"):
            convert(record, other, "Record", "r")


@pytest.mark.parametrize(
    ("given", "target", "fine"),
    [
        ([2**63, -1], "f8", True),
        ([2**63 + 1, -1], "f8", False),
        ([2**53 + 1, 0.5], "f8", False),
        ([2**64 - 1, 1], "u8", True),
        ([2**64, 1], "u8", False),
        ([2**64, 1], "f4", True),
        ([[1, 2], [3]], "f8", False),
        (["1", 2], "i4", False),
        (MASKED([1, 2], mask=[False, True]), "i4", False),
        (MASKED([1, 2], mask=[False, False]), "i4", True),
        (7, "u1", True),
        (-7, "u1", False),
    ],
)
def test_lists_are_converted_without_a_detour(given: Any, target: str, fine: bool) -> None:
    if not fine:
        with pytest.raises(InvalidRequest):
            convert(given, target, "Input", "inputs.x")
        return
    assert np.array_equal(convert(given, target, "Input", "inputs.x"), np.array(given, object).astype(target))


# --- every place where something a user gives is converted ---------------------------------------------------------


def buffer(kind: str, role: str = "input") -> BufferInfo:
    dtype = np.dtype(kind)
    return BufferInfo("x", role, 2 * dtype.itemsize, dtype, (2,), False)


OUTSIDE = [
    ("u1", np.array([[1, -1]], "i1")),
    ("u8", np.array([[1, -1]], "i8")),
    ("i2", np.array([[1, 40_000]], "u2")),
    ("i8", np.array([[1, 1 << 63]], "u8")),
    ("i4", np.array([[1, 0.5]], "f4")),
    ("i8", np.array([[1, 2.0**63]], "f8")),
    ("i8", np.array([[1, np.nan]], "f8")),
    ("f4", np.array([[1, 1e39]], "f8")),
    ("f4", np.array([[1, (1 << 24) + 1]], "i4")),
    ("f8", np.array([[1, (1 << 53) + 1]], "u8")),
]


@pytest.mark.parametrize(("kind", "given"), OUTSIDE)
def test_inputs_constants_and_files_are_converted_alike(kind: str, given: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot hold"):
        items(given, buffer(kind), None)
    with pytest.raises(InvalidRequest, match="cannot hold"):
        constant(given[0], buffer(kind, "constant"))
    np.save(tmp_path / "a.npy", given)
    np.save(tmp_path / "b.npy", np.zeros((1, 2), "i8" if given.dtype == "u8" else "u1"))
    with pytest.raises(InvalidRequest, match="cannot hold"):
        gather([f"x={tmp_path}/a.npy", f"x={tmp_path}/b.npy"], [buffer(kind)], 30)


def test_files_of_several_types_are_not_joined_as_floating_point(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((1, 2), (1 << 53) + 1, "u8"))
    np.save(tmp_path / "b.npy", np.full((1, 2), -1, "i8"))
    found = gather([f"x={tmp_path}/a.npy", f"x={tmp_path}/b.npy"], [buffer("i8")], 30).arrays["x"]
    assert found.tolist() == [[(1 << 53) + 1] * 2, [-1] * 2]


@pytest.mark.parametrize(("kind", "form"), [("u2", "PNG"), ("i4", "TIFF"), ("f4", "TIFF")])
def test_pictures_of_more_than_8_bits_are_not_cut_off(kind: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    Image.fromarray(np.full((2, 2), 300, kind)).save(path, format=form)
    picture = BufferInfo("x", "input", 4, np.dtype("u1"), (2, 2), False, True)
    with pytest.raises(InvalidRequest, match="8 bits"):
        gather([f"x={path}"], [picture], 30)


@pytest.mark.parametrize("name", TYPES)
def test_scalars_and_vectors_of_kernels_are_converted_alike(name: str) -> None:
    element, size = TYPES[name]

    def packed(value: object, count: int = 1) -> bytes:
        argument = Argument("x", name if count == 1 else f"{name}{count}", "value", element, count, size * count)
        return PackedArguments(Kernel("k", (argument,)), [value], RegionSpace(), 0).bytes

    for source in NUMBERS[: -len(COMPLEX)]:
        for value in values_of(source):
            given = int(value) if value.dtype.kind in "biu" else value
            for argument, count in ((given, 1), ((0, given), 2)):
                if fits(value, element):
                    assert packed(argument, count)[-size:] == np.asarray(value).astype("<" + element).tobytes()
                    continue
                with pytest.raises(InvalidRequest, match="cannot hold") as refused:
                    packed(argument, count)
                assert refused.value.details["field"] == "arguments.x"


def test_every_type_a_kernel_may_take_is_tried() -> None:
    assert set(SCALARS) < set(TYPES)
    assert {element for element, _ in TYPES.values()} <= set(NUMBERS)
