# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs, timelines and markets as HTML for notebooks: pure functions from the server's answers to text.

Every name comes from a tenant, so all of it is escaped. Colours have enough contrast on white and on black, and each
mark says in words what its colour says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from eddy.core.units import format_duration

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000")
"""One a job, told apart also without colour vision. Source: Okabe and Ito, Color Universal Design, 2008."""
BAD = "#C62828"
WIDTH, LANE, LEFT = 760, 26, 62
"""Of a timeline, in pixels: its width, the height of a slot's row, and the room for the slots' names."""

Answer = Mapping[str, Any]


def bar(part: float, label: str, colour: str = COLOURS[0], width: int = 160) -> str:
    """A bar that is full at 1, with its value in words beside it."""
    filled = round(max(0.0, min(1.0, part)) * width)
    box = f"display:inline-block;height:.7em;border:1px solid {colour};width:{width}px;vertical-align:middle"
    inner = f"display:block;height:100%;width:{filled}px;background:{colour}"
    return f'<span style="{box}"><span style="{inner}"></span></span> {escape(label)}'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells that are HTML already."""
    top = "".join(f'<th style="text-align:left">{escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def progress(job: Answer) -> str:
    """How far a job is."""
    done, total = int(job["progress"]["done"]), int(job["progress"]["total"])
    failed = job["state"] in ("failed", "cancelled")
    words = f"{job['state']}, {done} of {total} items" + (f" ({job['doing']})" if job.get("doing") else "")
    return bar(done / max(total, 1), words, BAD if failed else COLOURS[2])


def job(job: Answer) -> str:
    """A job: how far it is, where its time went, and why it ended as it did."""
    rows = [["state", progress(job)]]
    if job.get("response_s") is not None:
        rows.append(["board time", escape(format_duration(job["response_s"]))])
    waits = [f"{format_duration(value)} for {name}" for name, value in job.get("waiting", {}).items() if value]
    parts = [("waiting", ", ".join(waits) or "-")]
    loads = int(job["reconfigurations"])
    parts += [("reconfiguring", f"{format_duration(job['reconfiguring_s'])}, {loads} load{'' if loads == 1 else 's'}")]
    parts += [("running", format_duration(job["running_s"]))]
    if job.get("preemptions"):
        parts += [("preempted", f"{job['preemptions']} times")]
    kernel = job.get("kernel") or {}
    if kernel.get("parallel_fraction") is not None:
        parts += [("parallel fraction F", f"{kernel['parallel_fraction']:.3g}, from its counters")]
    rows += [[name, escape(words)] for name, words in parts]
    if job.get("error"):
        error = job["error"]
        words = f"{error.get('cause', '')}: {error.get('message', '')}"
        rows.append(["error", f'<span style="color:{BAD}">{escape(words)}</span>'])
    if not job.get("computed", True):
        rows.append(["note", "this board computes nothing: every output is zeros"])
    title = f"<b>Job {int(job['id'])}</b> {escape(str(job['application']))}, tenant {escape(str(job['tenant']))}"
    return title + table(("", ""), rows)


def jobs(found: Sequence[Answer]) -> str:
    """Jobs, a line each."""
    rows = [
        [
            str(int(each["id"])),
            escape(str(each["tenant"])),
            escape(str(each["application"])),
            progress(each),
            escape(format_duration(each.get("response_s"))),
        ]
        for each in found
    ]
    return table(("job", "tenant", "what", "progress", "board time"), rows)


def market(answer: Answer) -> str:
    """Prices of the clusters, and what the asking tenant has of them."""
    mine = {share["slot"]: share for share in (answer.get("me") or {}).get("shares", [])}
    rows = []
    for cluster in answer["clusters"]:
        share = mine.get(cluster["slot"], {})
        pes, cores = float(share.get("pes", 0.0)), int(cluster["cores"])
        rows.append(
            [
                f"slot {int(cluster['slot'])}",
                escape(str(cluster["module"])),
                f"{cluster['price']:.4g}",
                bar(pes / max(cores, 1), f"{pes:.3g} of {cores}"),
                escape(format_duration(share.get("core_seconds"))),
            ]
        )
    title = f"<b>Epoch {int(answer['epoch'])}</b> under {escape(str(answer['price_policy']))}"
    return title + _speedups(answer.get("me") or {}) + table(("", "module", "price of a core", "my cores", "got"), rows)


def _speedups(me: Answer) -> str:
    names = {
        "entitlement": "entitled to",
        "promised_speedup": "promised",
        "modelled_speedup": "delivered, by the model",
        "measured_speedup": "measured",
    }
    words = [f"{words} {me[name]:.3g}" for name, words in names.items() if me.get(name) is not None]
    return f"<div>speedup over one core: {escape('; '.join(words))}</div>" if words else ""


def timeline(spans: Sequence[Answer], slots: Sequence[int]) -> str:
    """What slots did over board time, as an SVG: loads are hatched, items filled, faults outlined in red.

    Args:
        spans: As `GET /v1/overview` gives them.
        slots: Indices of the rows, top down.
    """
    if not spans:
        return "<div>nothing has run yet</div>"
    begin = min(float(span["start_s"]) for span in spans)
    length = max(max(float(span["end_s"]) for span in spans) - begin, 1e-9)
    jobs = sorted({int(span["job"]) for span in spans})
    height = LANE * len(slots) + 40
    scale = (WIDTH - LEFT - 8) / length
    parts = [_axis(begin, length, len(slots))]
    parts += [
        f'<text x="0" y="{row * LANE + 17}" fill="currentColor">slot {int(slot)}</text>'
        for row, slot in enumerate(slots)
    ]
    for span in sorted(spans, key=lambda each: each["kind"] == "item"):
        if span["slot"] in slots:
            x = LEFT + (float(span["start_s"]) - begin) * scale
            wide = (float(span["end_s"]) - float(span["start_s"])) * scale
            colour = COLOURS[jobs.index(int(span["job"])) % len(COLOURS)]
            parts.append(_span(span, x, slots.index(span["slot"]) * LANE + 4, max(wide, 1.0), colour))
    legend = ", ".join(
        f'<span style="color:{COLOURS[rank % len(COLOURS)]}">&#9632;</span> job {number}'
        for rank, number in enumerate(jobs)
    )
    style = "font:12px sans-serif;max-width:100%"
    label = f"what {len(slots)} slots did in {format_duration(length)} of board time"
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" style="{style}">'
        f"{''.join(parts)}</svg><div>{legend}; faint: being loaded</div>"
    )


def _span(span: Answer, x: float, y: float, wide: float, colour: str) -> str:
    load = span["kind"] == "load"
    what = "load" if load else f"item {span['item']}"
    words = f"job {int(span['job'])}, task {span['task']}: {what}, {format_duration(span['end_s'] - span['start_s'])}"
    edge = BAD if not span["ok"] else colour
    words += "" if span["ok"] else ", ended in a fault"
    place = f'x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{LANE - 8}"'
    paint = (
        f'fill="{colour}" stroke="{edge}" fill-opacity="{0.25 if load else 1}" stroke-width="{1 + (not span["ok"])}"'
    )
    return f"<rect {place} {paint}><title>{escape(words)}</title></rect>"


def _axis(begin: float, length: float, rows: int) -> str:
    y = rows * LANE + 6
    marks = []
    for step in range(5):
        x = LEFT + (WIDTH - LEFT - 8) * step / 4
        anchor = "end" if step == 4 else "middle" if step else "start"
        marks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{y}" stroke="currentColor" stroke-opacity=".2"/>'
            f'<text x="{x:.1f}" y="{y + 16}" text-anchor="{anchor}" fill="currentColor">'
            f"{format_duration(length * step / 4)}</text>"
        )
    note = f"board time, from {format_duration(begin)} on" if begin else "board time"
    return "".join(marks) + f'<text x="{LEFT}" y="{y + 31}" fill="currentColor">{escape(note)}</text>'
