# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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
from eddy.host.files import translate_os_errors, write_private

WORD_BYTES = 4
"""Of the configuration port of UltraScale+ (UG570)."""

MEASURABLE: Mapping[str, tuple[str, ...]] = {
    "shell_hz": (),
    "configuration": ("bytes_per_s", "source"),
    "dram": ("row_bytes", "units", "hash_masks"),
}
"""Fields of a profile, each with those of its parts that are meant; () for a number. `dram.units` are the banks of all
channels together, which is what shows from outside."""


def read_measurements(report: Mapping[str, Any], day: str) -> dict[str, Any]:
    """What a report of `eddy board-test` measured of a profile's fields.

    Args:
        report: As `eddy.board.selftest.board_test.report` makes it.
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
    memory = steps.get("DRAM address map", {})
    if memory.get("as_planned") == 0 and memory["expressible"]:
        row_bytes, units = int(memory["row_bytes"]), int(memory["units"])
        masks = [int(memory[f"unit_bit_{bit}_mask"]) ^ row_bytes << bit for bit in range(units.bit_length() - 1)]
        found["dram"] = {"row_bytes": row_bytes, "units": units, "hash_masks": masks}
    if not found:
        message = "nothing of the profile was measured: loads give a rate where images differ in size"
        raise InvalidRequest(message, field="measured")
    return found


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Write a file of measured values, readable by everybody.

    Raises:
        StorageFailed: It cannot be written.
    """
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, yaml.safe_dump(dict(found), sort_keys=True).encode())
        path.chmod(0o644)


def apply_measurements(data: Mapping[str, Any], name: str, folder: Path | None) -> dict[str, Any]:
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
    if "dram" in found:
        both["dram"] = _memory(path, data["dram"], found["dram"])
    return both


def _memory(path: Path, planned: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Memory with the map that was measured."""
    if set(found) != set(MEASURABLE["dram"]):
        message = f"{path}: dram has {', '.join(sorted(found))}; a map is {', '.join(MEASURABLE['dram'])} together"
        raise InvalidRequest(message, field="dram")
    channels = min(planned.get("channels", 1), found["units"])
    told = {"row_bytes": found["row_bytes"], "hash_masks": found["hash_masks"], "hashing": False}
    return {**planned, **told, "banks": found["units"] // channels, "channels": channels}


def _port(planned: Mapping[str, Any], found: Mapping[str, Any], shell_hz: float) -> dict[str, Any]:
    """The port with what was measured; an engine's rate is told as words a cycle, from which its profile derives it."""
    port = {**planned, **found}
    if "words_per_cycle" in planned and "bytes_per_s" in found:
        port["words_per_cycle"] = port.pop("bytes_per_s") / (WORD_BYTES * shell_hz)
    return port


def _check(path: Path, field: str, value: Any) -> None:
    parts = MEASURABLE.get(field)
    if parts is None or (parts and not (isinstance(value, dict) and set(value) <= set(parts))):
        allowed = [f"{name}.{part}" if part else name for name, each in MEASURABLE.items() for part in each or ("",)]
        message = f"{path}: {field} is not measured; only {', '.join(allowed)} may be given there"
        raise InvalidRequest(message, field=field, allowed=allowed)
    numbers = [(each, name) for name, each in value.items() if name != "source"] if parts else [(value, field)]
    for number, name in numbers:
        if name == "hash_masks":
            sound = isinstance(number, list) and all(type(mask) is int and mask >= 0 for mask in number)
        else:
            real = isinstance(number, int) or (isinstance(number, float) and field != "dram")
            sound = real and not isinstance(number, bool) and 0 < number < math.inf
        if not sound:
            raise InvalidRequest(f"{path}: {field} has {number!r}, not {_MEANT.get(name, _NUMBER)}", field=field)


_NUMBER, _WHOLE = "a number above 0", "a whole number above 0"
_MEANT = {"hash_masks": "a list of whole numbers", "row_bytes": _WHOLE, "units": _WHOLE}
