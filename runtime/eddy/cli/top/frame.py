# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy top` shows, as lines of text that fit a terminal: pure in what the server answered.

Every part has its place and its share of the lines; a part that has more says how many more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eddy.cli.tenant.resources import phase_of
from eddy.core import names
from eddy.core.units import format_bits_rate, format_duration

COLUMNS, LINES = 80, 24
"""The smallest terminal everything fits into."""
HISTORY_HOURS, HISTORY_POINTS = 6.0, 40
"""How far back a frame looks, and in how many letters."""
BLOCKS = "▁▂▃▄▅▆▇█"
_BLANK = "-"
Chosen = tuple[str, int]
"""What is marked: `job` or `slot`, and its number."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a frame.

    Attributes:
        text: At most as wide as the frame.
        style: What it is: `title`, `head`, `plain`, `bad` or `chosen`.
        job: The job it is about, which can be chosen; else None.
        slot: The slot it is about, which can be chosen; else None.
    """

    text: str
    style: str = "plain"
    job: int | None = None
    slot: int | None = None

    @property
    def about(self) -> Chosen | None:
        """What is chosen with it."""
        if self.job is not None:
            return "job", self.job
        return None if self.slot is None else ("slot", self.slot)


@dataclass(frozen=True, slots=True)
class FrameData:
    """What the server answered.

    Attributes:
        overview: The answer of `GET /v1/overview`; None where nothing answered.
        market: The answer of `GET /v1/market`; None where the board has no market.
        problem: Why there is no overview; "" where there is one.
        history: Points of `GET /v1/history`, oldest first; empty where there are none, or none that may be seen.
    """

    url: str
    overview: Mapping[str, Any] | None
    market: Mapping[str, Any] | None = None
    problem: str = ""
    history: Sequence[Mapping[str, Any]] = ()


def frame(seen: FrameData, columns: int = COLUMNS, lines: int = LINES, chosen: Chosen | None = None) -> list[Line]:
    """The lines of a frame, at most `lines` of at most `columns` characters; what is `chosen` is marked."""
    if seen.overview is None:
        return _fit([Line(f"eddy top  {seen.url}", "title"), Line(f"no answer: {seen.problem}", "bad")], columns, lines)
    state = seen.overview
    where = _boards(state, columns) if "boards" in state else _slots(state, columns)
    fixed = [
        *_title(seen, state),
        *_history(seen.history),
        *where,
        *_market(seen.market, state, columns),
        *_tenants(state),
        *_sessions(state, columns),
        *_leases(state, columns),
    ]
    left = max(lines - len(fixed), 3)
    found = [*fixed, *_jobs(state, left, columns)]
    marked = [replace(line, style="chosen") if line.about and line.about == chosen else line for line in found]
    return _fit(marked, columns, lines)


def _fit(lines: Sequence[Line], columns: int, most: int) -> list[Line]:
    return [replace(line, text=names.truncate_columns(line.text, columns).rstrip()) for line in lines[:most]]


def _title(seen: FrameData, state: Mapping[str, Any]) -> list[Line]:
    counts = state["counts"]
    jobs = sum(counts.values())
    said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    who = state["viewer"] + (" (operator)" if state["operator"] and state["viewer"] != "operator" else "")
    where = seen.url.partition("://")[2] or seen.url
    clock = "the head runs for" if "boards" in state else "board time"
    first = f"eddy top  {where}  {who}  policy {state['policy']}  {clock} {format_duration(state['now_s'])}"
    second = Line(f"{jobs} jobs under way{': ' if said else ''}{said}")
    faults = ", ".join(f"{count} {code}" for code, count in sorted(state.get("faults", {}).items()))
    third = [Line(f"faults since the start: {faults}", "bad")] if faults else []
    return [Line(first, "title"), second if state["ready"] else Line(f"not ready: {state['detail']}", "bad"), *third]


def _history(points: Sequence[Mapping[str, Any]]) -> list[Line]:
    """A line each for slots in use and for jobs that waited, over the hours that were asked for."""
    if len(points) < 2:
        return []
    begins_s, ends_s = (points[at]["unix_s"] for at in (0, -1))
    width = (ends_s - begins_s) / (HISTORY_POINTS - 1) or 1.0
    used: list[float | None] = [None] * HISTORY_POINTS
    waits = list(used)
    for point in points:
        place = min(round((point["unix_s"] - begins_s) / width), HISTORY_POINTS - 1)
        used[place] = point["busy"] / point["slots"] if point["slots"] else 0.0
        waits[place] = point["waiting"]
    most = max(each for each in waits if each is not None)
    over, now = format_duration(ends_s - begins_s), points[-1]
    share = now["busy"] / now["slots"] if now["slots"] else 0.0
    return [
        Line(f"slots {sparkline(used, 1.0)} {100 * share:3.0f} % in use, over {over}"),
        Line(f"queue {sparkline(waits, most)} {now['waiting']:3.0f} wait, {most:.0f} at most"),
    ]


def sparkline(values: Sequence[float | None], most: float) -> str:
    """A letter for each value, from the lowest block for none to the full one for `most`; blank where nothing is
    known."""
    top = len(BLOCKS) - 1
    scaled = (None if value is None else round(top * min(value / most, 1.0)) if most > 0 else 0 for value in values)
    return "".join(" " if level is None else BLOCKS[level] for level in scaled)


def _slots(state: Mapping[str, Any], columns: int) -> list[Line]:
    rows = [("SLOT", "POOL", "PHASE", "SINCE", "MODULE", "TENANT", "JOB", "ITEM")]
    for slot in state["slots"]:
        since = format_duration(state["now_s"] - slot["since_s"])
        values = (slot["slot"], slot["pool"], phase_of(slot), since, slot["module"], slot["tenant"])
        rows.append((*values, slot["job"], slot["item"]))
    head, *texts = _table(_SLOT, rows, columns)
    lines = [Line(head, "head")]
    for slot, text in zip(state["slots"], texts, strict=True):
        bad = slot["phase"] in ("faulted", "unknown") or slot["drained"]
        lines.append(Line(text, "bad" if bad else "plain", slot=slot["slot"]))
    return lines


def _boards(state: Mapping[str, Any], columns: int, most: int = 12) -> list[Line]:
    """Boards of a pool, those with something wrong first where there is no room for all."""
    boards = state["boards"]
    if len(boards) > most:
        boards = sorted(boards, key=lambda board: (board["present"], not board["drained"], -len(board["jobs"])))[:most]
    rows = [("BOARD", "KIND", "STATE", "JOBS", "WIDTH", "LINK", "MODULES")]
    for board in boards:
        phase = "away" if not board["present"] else "drained" if board["drained"] else "there"
        link = format_bits_rate(board["link_bps"]) if board["link_bps"] else None
        values = (board["board"], board["kind"], phase, len(board["jobs"]), board["width"], link)
        rows.append((*values, ", ".join(board["modules"])))  # type: ignore[arg-type]
    head, *texts = _table(_BOARD, rows, columns)
    lines = [Line(head, "head")]
    for board, text in zip(boards, texts, strict=True):
        lines.append(Line(text, "bad" if board["drained"] or not board["present"] else "plain"))
    hidden = len(state["boards"]) - len(boards)
    return lines + ([Line(f"and {hidden} more boards")] if hidden else [])


def _market(market: Mapping[str, Any] | None, state: Mapping[str, Any], columns: int) -> list[Line]:
    """Clusters that are in a slot: what was in one and was closed keeps its account, and is there no more."""
    empty = {slot["slot"] for slot in state.get("slots", ()) if not slot["module"]}
    clusters = [each for each in (market or {}).get("clusters", ()) if "board" in each or each["slot"] not in empty]
    if not market or not clusters:
        return []
    mine = {(share.get("board"), share["slot"]): share for share in (market.get("me") or {}).get("shares", [])}
    rows = [("SLOT", "CLUSTER", "CORES", "PRICE", "MY CORES", "CORE-SECONDS")]
    for cluster in clusters:
        share = mine.get((cluster.get("board"), cluster["slot"]), {})
        name = f"{cluster['module']} {cluster['board']}" if "board" in cluster else cluster["module"]
        values = (cluster["slot"], name, cluster["cores"], _number(cluster["price"]))
        rows.append((*values, _number(share.get("pes")), _number(share.get("core_seconds"))))
    head, *texts = _table(_CLUSTER, rows, columns)
    return [Line(head, "head"), *map(Line, texts)]


def _tenants(state: Mapping[str, Any], most: int = 4) -> list[Line]:
    loads = sorted(state["tenants"], key=lambda entry: -sum(entry["jobs"].values()))
    if not loads:
        return []
    lines = [Line("TENANTS", "head")]
    for entry in loads[:most]:
        said = ", ".join(f"{count} {name}" for name, count in sorted(entry["jobs"].items()))
        lines.append(Line(f"{entry['tenant']:<16}{said}"))
    return lines + ([Line(f"and {len(loads) - most} more tenants")] if len(loads) > most else [])


def _sessions(state: Mapping[str, Any], columns: int, most: int = 4) -> list[Line]:
    """Those that do most first."""
    found = sorted(state.get("sessions", ()), key=lambda each: (-each["running"], -each["queued"], -each["launches"]))
    if not found:
        return []
    rows: list[tuple[Any, ...]] = [("SESSION", "TENANT", "STATE", "MEMORY", "BUFFERS", "QUEUED", "LAUNCHES", "CORE-S")]
    for each in found[:most]:
        memory, core = f"{each['memory_bytes'] / (1 << 20):.0f}M", _number(each["core_seconds"])
        values = each["session"], each["tenant"], each["state"], memory, each["buffers"], each["queued"]
        rows.append((*values, each["launches"], core))
    head, *texts = _table(_SESSION, rows, columns)
    more = [Line(f"and {len(found) - most} more sessions")] if len(found) > most else []
    return [Line(head, "head"), *map(Line, texts), *more]


def _leases(state: Mapping[str, Any], columns: int, most: int = 4) -> list[Line]:
    """Those that hold slots first."""
    found = sorted(state.get("leases", ()), key=lambda each: not each["slots"])
    if not found:
        return []
    rows: list[tuple[Any, ...]] = [("LEASE", "TENANT", "STATE", "SLOTS", "HOLDS", "UNUSED")]
    for each in found[:most]:
        slots = ",".join(map(str, each["slots"])) or "-"
        rows.append(
            (each["lease"], each["tenant"], each["state"], slots, each["module"] or "-", f"{each['idle_s']:.0f}s")
        )
    head, *texts = _table(_LEASE, rows, columns)
    more = [Line(f"and {len(found) - most} more leases")] if len(found) > most else []
    return [Line(head, "head"), *map(Line, texts), *more]


def _jobs(state: Mapping[str, Any], room: int, columns: int) -> list[Line]:
    """Jobs under way, then those that ended, as many as there is room for."""
    found = [*state["jobs"], *state["ended"]]
    shown = found[: room - 1] if len(found) < room else found[: room - 2]
    rows = [("JOB", "TENANT", "APPLICATION", "STATE", "ITEMS", "WAITING", "RUNNING", "RESPONSE"), *map(_job, shown)]
    head, *texts = _table(_JOB, rows, columns)
    lines = [Line(head, "head")]
    lines += [
        Line(text, "bad" if entry["error"] else "plain", entry["id"]) for entry, text in zip(shown, texts, strict=True)
    ]
    hidden = sum(state["counts"].values()) - sum(entry in shown for entry in state["jobs"])
    if len(found) > len(shown) and hidden > 0:
        lines.append(Line(f"and {hidden} more under way"))
    return lines


def _job(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    progress, error = entry["progress"], entry["error"]
    what = f"{entry['state']}{': ' + error['cause'] if error else ''}"
    times = (format_duration(entry["waiting_s"]), format_duration(entry["running_s"]), _ends(entry))
    items = f"{progress['done']}/{progress['total']}"
    return (entry["id"], entry["tenant"], entry["application"], what, items, *times)


def _ends(entry: Mapping[str, Any]) -> str:
    """What it took; of a job under way, within what nine in ten such jobs end."""
    estimate = entry.get("estimate")
    if entry["response_s"] is None and estimate:
        return f"<{format_duration(max(estimate['end_p90_s'] - entry['arrival_s'], 0.0)).replace(' ', '')}"
    return format_duration(entry["response_s"])


_SLOT = ((4, ">"), (8, "<"), (8, "<"), (8, ">"), (16, "<"), (12, "<"), (12, ">"), (5, ">"))
_BOARD = ((16, "<"), (14, "<"), (8, "<"), (5, ">"), (5, ">"), (10, ">"), (12, "<"))
_CLUSTER = ((4, ">"), (22, "<"), (6, ">"), (10, ">"), (10, ">"), (14, ">"))
_LEASE = ((14, "<"), (12, "<"), (9, "<"), (8, "<"), (18, "<"), (8, ">"))
_SESSION = ((18, "<"), (12, "<"), (9, "<"), (6, ">"), (7, ">"), (6, ">"), (8, ">"), (7, ">"))
_JOB = ((12, ">"), (8, "<"), (13, "<"), (12, "<"), (6, ">"), (7, ">"), (7, ">"), (8, ">"))
"""Widths of columns, and on which side each is aligned. Numbers keep theirs where there is room, so that they stand
still from one look to the next; texts, on the left, share what is left by what they need."""


def _table(columns: Sequence[tuple[int, str]], rows: Sequence[Sequence[Any]], width: int) -> list[str]:
    """Rows, the first being the head, as lines at most as wide as a terminal."""
    shown = [[_BLANK if value is None or value == "" else str(value) for value in row] for row in rows]
    needed = [max(names.width(row[place]) for row in shown) for place in range(len(columns))]
    texts = sorted((place for place, (_, side) in enumerate(columns) if side == "<"), key=needed.__getitem__)
    widths = [usual for usual, _ in columns]
    room = max(width, COLUMNS) - (len(columns) - 1) - sum(usual for usual, side in columns if side == ">")
    for place, (usual, side) in enumerate(columns):
        short = sum(needed[text] for text in texts) - room
        if side == ">" and short > 0:  # a column of numbers gives what it does not use
            given = min(short, max(usual - needed[place], 0))
            widths[place], room = usual - given, room + given
    for done, place in enumerate(texts):  # what the narrower ones did not need, the wider ones have
        widths[place] = min(needed[place], room // (len(texts) - done))
        room -= widths[place]
    return [
        " ".join(
            names.fit_columns(text, most, side) for text, most, (_, side) in zip(row, widths, columns, strict=True)
        )
        for row in shown
    ]


def _number(value: Any) -> str:
    return _BLANK if value is None else f"{float(value):.3g}"
