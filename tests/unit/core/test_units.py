# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Quantities in words, and that nothing puts a unit behind a number in another way."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eddy.core import units

ROOT = Path(__file__).parents[3]
UNIT = re.compile(r" ?(bytes?|[kKMGT]i?B(/s)?|B/s|us|ms|ns|min|[kMG]?Hz|[kMG]b(it)?/s|bytes a second)(?![\w-])")
ALLOWED = {
    "runtime/eddy/cli/support/roofline.py": "the slope of a line: bytes a cycle, in three digits",
    "runtime/eddy/cli/tenant/usage.py": "whole nanoseconds of an account, as it is kept",
    "runtime/eddy/store/account_tables/usage.py": "whole nanoseconds of an account, as it is kept",
    "runtime/eddy/store/bytes/blobs.py": "what a damaged record has in place of a number",
}


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        (units.format_bytes, 0, "0 bytes"),
        (units.format_bytes, 1, "1 byte"),
        (units.format_bytes, 1 << 40, "1 TiB"),
        (units.format_bytes, 65536, "64 KiB"),
        (units.format_bytes, 65537, "65,537 bytes"),
        (units.format_bytes, 1_015_828, "1,015,828 bytes"),
        (units.format_size, 1_288_490_189, "1.2 GiB"),
        (units.format_size, 31 << 20, "31 MiB"),
        (units.format_size, 1023 * 1024, "1 MiB"),
        (units.format_size, 12, "12 bytes"),
        (units.format_rate, 127.5e6, "128 MB/s"),
        (units.format_rate, 10, "10 B/s"),
        (units.format_bits_rate, 0.94e9, "940 Mbit/s"),
        (units.format_frequency, 100e6, "100 MHz"),
        (units.format_frequency, 99_999_000, "99.999 MHz"),
        (units.format_duration, None, "-"),
        (units.format_duration, 0.0, "0"),
        (units.format_duration, 3e-9, "3.00 ns"),
        (units.format_duration, 3e-6, "3.00 us"),
        (units.format_duration, 0.0042, "4.20 ms"),
        (units.format_duration, 61.25, "61.2 s"),
        (units.format_duration, 600.0, "10.0 min"),
        (units.format_duration, 7200.0, "2.0 h"),
        (units.format_slots, [3, 0, 1, 2], "slots 0 to 3"),
        (units.format_slots, [0, 5, 2], "slots 0, 2 and 5"),
        (units.format_slots, [4], "slot 4"),
        (units.format_slots, [], "no slot"),
    ],
)
def test_words(form: Callable[[Any], str], value: object, words: str) -> None:
    assert form(value) == words


@pytest.mark.parametrize("size", [1023, 1024, 1025, (1 << 30) - 1, 1 << 30, 3 << 29, 999_999_999])
def test_bytes_are_told_exactly(size: int) -> None:
    number, unit = units.format_bytes(size).replace(",", "").split()
    assert int(number) << (10 * ("bytes", "KiB", "MiB", "GiB").index(unit)) == size


def printed_units(text: str) -> Iterator[int]:
    """Lines at which a value has a unit put behind it by hand."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            for value, after in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                    yield from [node.lineno] if UNIT.match(str(after.value)) else []


def test_units_are_put_behind_numbers_in_one_place() -> None:
    assert list(printed_units('f"{size >> 20} MiB"\nf"{size} bytes"\nf"{units.x(size)} free"\n"4 KiB"')) == [1, 2]
    files = [path for path in (ROOT / "runtime").rglob("*.py") if path.name != "units.py"]
    assert len(files) > 400
    found = {str(path.relative_to(ROOT)) for path in files if list(printed_units(path.read_text(encoding="utf-8")))}
    assert found == set(ALLOWED)
