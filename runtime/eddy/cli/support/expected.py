# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is expected of jobs, for people: times from now on, in board seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.core.units import format_duration

OLD_S = 5.0
"""Wall seconds from which on the age of an estimate is told."""


def estimate_line(estimate: Mapping[str, Any] | None, state: str = "queued") -> str:
    """An estimate in a line; "" where there is none. A job that runs has left the queue: only its end is ahead."""
    if not estimate:
        return ""
    waits = state != "running"
    parts = [] if estimate["position"] is None or not waits else [f"place {estimate['position']} in the queue"]
    if estimate["start_p50_s"] is not None and waits:
        parts.append("starts " + _format_range(estimate, "start"))
    parts.append("ends " + _format_range(estimate, "end"))
    if not estimate["known"]:
        parts.append("a rough guess until its first item has ended")
    if estimate.get("age_s", 0.0) >= OLD_S:
        parts.append(f"estimated {format_duration(estimate['age_s'])} ago")
    return "; ".join(parts)


def estimate_sentence(estimate: Mapping[str, Any] | None) -> str:
    """The same as a sentence about the job; "" where there is none."""
    line = estimate_line(estimate)
    return line and f"It {'is at ' if line.startswith('place') else ''}{line}."


def short_outlook(estimate: Mapping[str, Any] | None) -> str:
    """What comes next, in a few letters."""
    if not estimate:
        return ""
    what = "end" if estimate["start_p50_s"] is None else "start"
    left = format_duration(max(estimate[f"{what}_p50_s"] - estimate["at_s"], 0.0))
    return f"#{estimate['position']} {what} {left}" if estimate["position"] else f"{what} {left}"


def _format_range(estimate: Mapping[str, Any], what: str) -> str:
    p50_s, p90_s = (max(estimate[f"{what}_{level}_s"] - estimate["at_s"], 0.0) for level in ("p50", "p90"))
    return f"in about {format_duration(p50_s)}, nine times in ten within {format_duration(p90_s)}"


def trial_lines(trial: Mapping[str, Any]) -> list[str]:
    """A dry run, a line each thing."""
    loads = [load for load in trial["loads"] if load["load_s"]]
    shown = ", ".join(f"{load['module']} into slot {load['slot']}" for load in loads[:4])
    more = f" and {len(loads) - 4} more" if len(loads) > 4 else ""
    core_s = trial["core_seconds"]
    lines = [
        ("would run", f"{trial['application'] or 'the kernel'}, batch {trial['batch']}, {trial['pool']} slots"),
        ("cost", f"{format_duration(trial['slot_seconds'])} of slots" if trial["slot_seconds"] else ""),
        (
            "cores",
            "not known: it never ran" if core_s is None else f"{format_duration(core_s)} of cores" if core_s else "",
        ),
        ("loads", f"{shown}{more}" if loads else "none" if trial["loads"] else ""),
        ("estimate", estimate_line(trial["estimate"])),
    ]
    return [f"{name:<14}{text}" for name, text in lines if text]
