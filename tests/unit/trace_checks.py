# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What any trace of `eddy simulate` must satisfy, checked from the trace and the input alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def problems_of(apps: Mapping[str, Any], events: Sequence[Row], document: Mapping[str, Any], bulk: bool) -> list[str]:
    """Everything that is wrong with a trace; none, if all is well."""
    trace: Sequence[Row] = document["trace"]
    times = [row["t_ms"] for row in trace]
    found = [] if times == sorted(times) else ["the trace is not in time order"]
    found += _loads(trace)
    found += _slots(trace)
    found += _items(apps, events, trace, bulk)
    for number, (event, row) in enumerate(zip(events, document["events"], strict=True)):
        mine = [entry for entry in trace if entry["event"] == number]
        if row["completion_ms"] != max(entry["t_ms"] for entry in mine):
            found.append(f"event {number} ends at another time than its last row")
        if row["first_configuration_ms"] != mine[0]["t_ms"] or mine[0]["t_ms"] < event["arrival_ms"] - 1e-6:
            found.append(f"event {number} begins at another time than its first row, or before it arrives")
        if row["preemptions"] != sum(entry["what"] == "preempt" for entry in mine):
            found.append(f"event {number}'s preemptions are not those of the trace")
    return found


def _loads(trace: Sequence[Row]) -> list[str]:
    """One reconfiguration at a time, each of them ended in its slot."""
    found, loading = [], None
    for row in trace:
        if row["what"] == "configure":
            if loading is not None:
                found.append(f"two loads at once at {row['t_ms']}")
            loading = row["slot"]
        elif row["what"] == "configured":
            if loading != row["slot"]:
                found.append(f"a load ended that had not begun at {row['t_ms']}")
            loading = None
    return found


def _slots(trace: Sequence[Row]) -> list[str]:
    """No two tasks in a slot; items only where their task sits; taken only between items."""
    found: list[str] = []
    holder: dict[int, tuple[int, Any]] = {}
    running: dict[int, int] = {}
    for row in trace:
        slot, key, what = row["slot"], (row["event"], row["task"]), row["what"]
        if what == "configure":
            if slot in holder or key in holder.values():
                found.append(f"slot {slot} or task {key} is given twice at {row['t_ms']}")
            holder[slot] = key
        elif holder.get(slot) != key:
            found.append(f"{what} of {key} in slot {slot}, which {holder.get(slot)} holds")
        elif what == "launch":
            if slot in running:
                found.append(f"two items run in slot {slot} at {row['t_ms']}")
            running[slot] = row["item"]
        elif what == "item_done":
            if running.pop(slot, None) != row["item"]:
                found.append(f"item {row['item']} of {key} ends, which did not run")
        elif what in ("preempt", "release"):
            if slot in running:
                found.append(f"slot {slot} is taken in the middle of an item")
            del holder[slot]
    return [*found, *(f"slot {slot} was never given back" for slot in holder)]


def _items(apps: Mapping[str, Any], events: Sequence[Row], trace: Sequence[Row], bulk: bool) -> list[str]:
    """Every item once, in order, after its predecessors'."""
    found: list[str] = []
    done: dict[tuple[int, Any], int] = defaultdict(int)
    for row in trace:
        number, task = row["event"], row["task"]
        if row["what"] == "item_done":
            if done[number, task] != row["item"]:
                found.append(f"item {row['item']} of {task} of event {number} is out of order")
            done[number, task] += 1
        elif row["what"] == "launch":
            need = events[number]["batch"] if bulk else row["item"] + 1
            for a, b in apps[events[number]["app"]].get("edges", []):
                if b == task and done[number, a] < need:
                    found.append(f"item {row['item']} of {task} of event {number} starts before {a} has finished")
    for number, event in enumerate(events):
        for at, task in enumerate(apps[event["app"]]["tasks"]):
            if done[number, task.get("id", at)] != event["batch"]:
                found.append(f"task {task.get('id', at)} of event {number} did not do its batch")
    return found
