# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Quantities in words, for messages, tables and pages: the one place where a unit is put behind a number.

What is machine-readable (JSON, metrics, the fields of an error) has plain numbers in SI units, and needs none of this.
"""

from __future__ import annotations

from collections.abc import Iterable

_BINARY = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("", "k", "M", "G", "T")


def format_bytes(size: int) -> str:
    """A number of bytes, exactly: 65536 is "64 KiB", 65537 is "65,537 bytes"; for what is compared with what fits."""
    left, power = size, 0
    while left and left % 1024 == 0 and power < len(_BINARY) - 1:
        left, power = left // 1024, power + 1
    if power and abs(left) < 1024:
        return f"{left} {_BINARY[power]}"
    return "1 byte" if size == 1 else f"{size:,} bytes"


def format_size(size: float) -> str:
    """About how many bytes, in three digits: 1,288,490,189 is "1.2 GiB"; for what is free, kept or used."""
    left, power = float(size), 0
    while abs(left) >= 999.5 and power < len(_BINARY) - 1:
        left, power = left / 1024, power + 1
    return f"{_round(left)} {_BINARY[power]}" if power else format_bytes(round(left))


def format_rate(bytes_per_s: float) -> str:
    """A rate of bytes in three digits: 127,500,000 is "128 MB/s"; decimal prefixes, as rates of buses are given."""
    return _decimal(bytes_per_s, "B/s")


def format_bits_rate(bits_per_s: float) -> str:
    """A rate of a network's link in three digits, as 940 Mbit/s."""
    return _decimal(bits_per_s, "bit/s")


def format_frequency(hz: float) -> str:
    """A frequency, exact to the kilohertz: 99,999,000 is "99.999 MHz"."""
    return f"{hz / 1e6:.3f}".rstrip("0").rstrip(".") + " MHz" if abs(hz) >= 1e6 else _decimal(hz, "Hz")


def format_duration(seconds: float | None) -> str:
    """A duration: three or four significant digits with its unit; "-" for none known."""
    if seconds is None:
        return "-"
    number = float(seconds)
    for bound, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (120.0, 1.0, "s")):
        if abs(number) < bound:
            return f"{number * factor:.{_digits(number * factor)}f} {unit}" if number else "0"
    return f"{number / 60:.1f} min" if abs(number) < 7200 else f"{number / 3600:.1f} h"


def format_slots(numbers: Iterable[int]) -> str:
    """Slots by number: "slots 0 to 3", "slots 0, 2 and 5", "no slot"."""
    found = sorted(numbers)
    if not found:
        return "no slot"
    if len(found) == 1:
        return f"slot {found[0]}"
    if len(found) > 2 and found == list(range(found[0], found[-1] + 1)):
        return f"slots {found[0]} to {found[-1]}"
    return f"slots {', '.join(map(str, found[:-1]))} and {found[-1]}"


def _decimal(number: float, unit: str) -> str:
    power = 0
    while abs(number) >= 999.5 and power < len(_DECIMAL) - 1:
        number, power = number / 1000, power + 1
    return f"{_round(number)} {_DECIMAL[power]}{unit}"


def _digits(number: float) -> int:
    return 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0


def _round(number: float) -> str:
    text = f"{number:.{_digits(number)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
