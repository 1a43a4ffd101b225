# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every board of a pool did: as lines, as a picture, and as a trace that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eddy.cli.pools.pool_picture import Mark, draw, lanes


def marks_of(timeline: Mapping[str, Any]) -> list[Mark]:
    """Where jobs were taken from boards; several at once are one."""
    found: dict[tuple[str, float], list[int]] = {}
    for move in timeline["moves"]:
        found.setdefault((move["from"], round(move["at_unix_s"], 1)), []).append(move["job"])
    origin_s = origin_of(timeline)
    return [
        Mark(board, at_s - origin_s, "1 job taken" if len(jobs) == 1 else f"{len(jobs)} jobs taken")
        for (board, at_s), jobs in sorted(found.items())
    ]


def origin_of(timeline: Mapping[str, Any]) -> float:
    """Wall time at which the timeline begins: the first part, or where it was asked from if there is none."""
    return float(min((part["started_unix_s"] for part in timeline["parts"]), default=timeline["since_unix_s"]))


def parts_of(timeline: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts with times in seconds from the beginning."""
    origin_s = origin_of(timeline)
    return [
        {**part, "start_s": part["started_unix_s"] - origin_s, "end_s": part["ended_unix_s"] - origin_s}
        for part in timeline["parts"]
    ]


def write_picture(timeline: Mapping[str, Any], path: Path) -> None:
    """Draw it; the format is that of the path's suffix."""
    draw(parts_of(timeline), timeline["boards"], marks_of(timeline), path)


def trace(timeline: Mapping[str, Any]) -> dict[str, Any]:
    """A Trace Event document: a process for each board, threads so that parts at once do not overlap; microseconds."""
    events: list[dict[str, Any]] = []
    parts, origin_s = parts_of(timeline), origin_of(timeline)
    for pid, board in enumerate(timeline["boards"], 1):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": board}})
        own = [part for part in parts if part["board"] == board]
        for part, lane in zip(own, lanes(own), strict=True):
            events.append(_event(part, pid, lane + 1))
        for move in timeline["moves"]:
            if move["from"] == board:
                name = f"job {move['job']} taken: {move['because']}"
                at_us = round((move["at_unix_s"] - origin_s) * 1e6)
                events.append({"ph": "i", "s": "p", "name": name, "cat": "move", "pid": pid, "tid": 1, "ts": at_us})
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _event(part: Mapping[str, Any], pid: int, tid: int) -> dict[str, Any]:
    last = part["first"] + part["items"] - 1
    return {
        "ph": "X",
        "name": f"{part['work']} [{part['first']}" + (f"-{last}]" if last > part["first"] else "]"),
        "cat": "part",
        "pid": pid,
        "tid": tid,
        "ts": round(part["start_s"] * 1e6),
        "dur": round((part["end_s"] - part["start_s"]) * 1e6),
        "args": {name: part[name] for name in ("job", "tenant", "items", "sent_bytes")},
    }


def write_trace(timeline: Mapping[str, Any], path: Path) -> None:
    """Write the trace; open it at https://ui.perfetto.dev or in chrome://tracing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(trace(timeline)) + "\n", encoding="utf-8")


def lines(timeline: Mapping[str, Any]) -> list[str]:
    """A line for each board: how much it did, and of the time that is looked at how much of it was busy."""
    parts = parts_of(timeline)
    length_s = max((part["end_s"] for part in parts), default=0.0)
    found = []
    for board in timeline["boards"]:
        own = [part for part in parts if part["board"] == board]
        jobs, items = len({part["job"] for part in own}), sum(part["items"] for part in own)
        busy = f"{100 * _covered_s(own) / length_s:.0f} % of {length_s:.3g} s" if own else "none of the time"
        taken = sum(move["from"] == board for move in timeline["moves"])
        found.append(f"{board:16} {jobs} jobs, {items} items in {len(own)} parts, busy {busy}"
                     + (f", {taken} jobs taken from it" if taken else ""))  # fmt: skip
    return found


def _covered_s(parts: Sequence[Mapping[str, Any]]) -> float:
    """Seconds in which at least one part ran."""
    covered, until_s = 0.0, float("-inf")
    for part in sorted(parts, key=lambda part: part["start_s"]):
        covered += max(part["end_s"] - max(part["start_s"], until_s), 0.0)
        until_s = max(until_s, part["end_s"])
    return covered
