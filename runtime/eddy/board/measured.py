"""Values measured on a board, in place of its profile's planned ones: `eddy board-test` writes them, boardd reads them.

A file `PROFILE.yaml` in a folder of the board has what of a profile can be measured, and nothing else: what the fabric
was built with (slots, parts, addresses) is not for a file beside it to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from eddy.core.errors import InvalidRequest
from eddy.files import os_errors, write_private

WORD_BYTES = 4
"""Of the configuration port of UltraScale+ (UG570)."""

MEASURABLE: Mapping[str, tuple[str, ...]] = {"shell_hz": (), "configuration": ("bytes_per_s", "source")}
"""Fields of a profile, each with those of its parts that are meant; () for a number."""


def of_report(report: Mapping[str, Any], day: str) -> dict[str, Any]:
    """What a report of `eddy board-test` measured of a profile's fields.

    Args:
        report: As `eddy.board.board_test.report` makes it.
        day: When, for the source of the figures.

    Raises:
        InvalidRequest: The board did not pass, or nothing of the kind was measured.
    """
    if not report["passed"]:
        raise InvalidRequest("the board did not pass: what was measured on it is not kept", field="measured")
    steps = {step["step"]: step["measured"] for step in report["steps"]}
    loads, found = steps.get("load time", {}), dict[str, Any]()
    if math.isfinite(rate := loads.get("bytes_per_s", math.nan)):
        source = f"eddy board-test, {day}: {loads['loads']:.0f} loads"
        found["configuration"] = {"bytes_per_s": round(rate), "source": source}
    if "shell_hz" in (time := steps.get("time", {})):
        found["shell_hz"] = round(time["shell_hz"])
    if not found:
        message = "nothing of the profile was measured: loads give a rate where images differ in size"
        raise InvalidRequest(message, field="measured")
    return found


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a file of measured values, readable by everybody.

    Raises:
        StorageFailed: It cannot be written.
    """
    with os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, yaml.safe_dump(dict(found), sort_keys=True).encode())
        path.chmod(0o644)


def with_measured(data: Mapping[str, Any], name: str, folder: Path | None) -> dict[str, Any]:
    """A profile's fields, with what was measured of them.

    Args:
        data: The profile's YAML.
        name: Of the profile.
        folder: Where measured values lie; None where there are none.

    Raises:
        InvalidRequest: The file has what cannot be measured, or no number where one belongs; names the field.
    """
    path = folder / f"{name}.yaml" if folder else None
    if path is None or not path.is_file():
        return dict(data)
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise InvalidRequest(f"{path} cannot be read: {error}; remove it, or measure again", field="measured") from None
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path} is no list of fields; remove it, or measure again", field="measured")
    for field, value in found.items():
        _check(path, str(field), value)
    both = {**data, **found}
    if "configuration" in found:
        both["configuration"] = _port(data["configuration"], found["configuration"], both["shell_hz"])
    return both


def _port(planned: Mapping[str, Any], found: Mapping[str, Any], shell_hz: float) -> dict[str, Any]:
    """The port with what was measured; an engine's rate is told as words a cycle, from which its profile derives it."""
    port = {**planned, **found}
    if "words_per_cycle" in planned and "bytes_per_s" in found:
        port["words_per_cycle"] = port.pop("bytes_per_s") / (WORD_BYTES * shell_hz)
    return port


def _check(path: Path, field: str, value: Any) -> None:
    parts = MEASURABLE.get(field)
    if parts is None or (parts and not (isinstance(value, dict) and set(value) <= set(parts))):
        allowed = ["shell_hz", "configuration.bytes_per_s", "configuration.source"]
        message = f"{path}: {field} is not measured; only {', '.join(allowed)} may be given there"
        raise InvalidRequest(message, field=field, allowed=allowed)
    numbers = [each for name, each in value.items() if name != "source"] if parts else [value]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
            raise InvalidRequest(f"{path}: {field} has {number!r}, not a number above 0", field=field)
