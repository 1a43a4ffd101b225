# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Temperature and power, as the kernel shows them."""

from __future__ import annotations

from pathlib import Path

SYSFS = Path("/sys/class")
"""Where the kernel shows them."""


def temperatures(sysfs: Path = SYSFS) -> list[float]:
    """Degrees Celsius of each sensor that answers; none on a machine that shows none."""
    return [value / 1000 for value in _numbers(sysfs / "thermal", "thermal_zone*/temp")]


def powers(sysfs: Path = SYSFS) -> list[float]:
    """Watts of each rail that is measured."""
    return [value / 1e6 for value in _numbers(sysfs / "hwmon", "hwmon*/power1_input")]


def _numbers(folder: Path, pattern: str) -> list[float]:
    found = []
    for path in sorted(folder.glob(pattern)):
        try:
            found.append(float(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # a sensor that is switched off answers with an error
    return found
