# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the slots did, over board time: as a picture, and as a trace that Perfetto and chrome://tracing open.

A `TimelineSpan` is a stretch of time in which one slot was loaded or ran one item. The drawing is pure in its spans;
nothing here asks a server.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

SpanKind = Literal["reconfigure", "reset", "run"]


@dataclass(frozen=True, slots=True)
class TimelineSpan:
    """One stretch of one slot's time, in board seconds.

    Attributes:
        kind: Loading a partial bitstream, resetting a module that served another tenant, or running an item.
        start_s: Beginning.
        end_s: End, not before the beginning.
        tenant: On whose behalf.
        item: Item of the batch; None where none ran.
        ok: False where it ended in a fault.
    """

    slot: int
    kind: SpanKind
    start_s: float
    end_s: float
    tenant: str
    job: str
    task: str
    item: int | None = None
    ok: bool = True


def perfetto(spans: Iterable[TimelineSpan], board: str) -> dict[str, Any]:
    """The spans as a Trace Event document: one process for the board, one thread a slot, times in microseconds."""
    ordered = sorted(spans, key=lambda span: (span.slot, span.start_s, span.end_s))
    slots = sorted({span.slot for span in ordered})
    names: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": board}}]
    for slot in slots:
        names.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": slot + 1, "args": {"name": f"slot{slot}"}})
    return {"displayTimeUnit": "ns", "traceEvents": names + [_trace_event(span) for span in ordered]}


def _trace_event(span: TimelineSpan) -> dict[str, Any]:
    arguments = {"tenant": span.tenant, "job": span.job, "task": span.task, "ok": span.ok}
    names = {"reconfigure": f"load {span.task}", "reset": f"reset {span.task}", "run": f"{span.task} [{span.item}]"}
    return {
        "ph": "X",
        "name": names[span.kind],
        "cat": span.kind,
        "pid": 1,
        "tid": span.slot + 1,
        "ts": round(span.start_s * 1e6, 3),
        "dur": round((span.end_s - span.start_s) * 1e6, 3),
        "args": arguments if span.item is None else {**arguments, "item": span.item},
    }


def write_trace(spans: Iterable[TimelineSpan], board: str, path: Path) -> None:
    """Write the trace; open it at https://ui.perfetto.dev or in chrome://tracing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(perfetto(spans, board)) + "\n")


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000")
"""One a tenant, told apart also without colour vision.  Source: Okabe and Ito, Color Universal Design, 2008."""
_BAR_HEIGHT = 0.78
_CHARACTER, _NARROWEST = 0.0075, 0.012
"""Width of a label's character, and of the narrowest stretch that is labelled, as parts of the whole width."""


def prepare() -> None:
    """Import what `draw` needs, which takes a second; for a thread beside the work that is to be drawn.

    Where it is not there, `draw` says so.
    """
    with contextlib.suppress(ImportError):
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401


def draw(spans: Sequence[TimelineSpan], title: str, path: Path) -> None:
    """Draw the spans, slots downwards, board time to the right; the format is that of the path's suffix.

    Items have their tenant's colour, loads a hatched tint of it; a span that ended in a fault is outlined in red.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    slots = sorted({span.slot for span in spans}) or [0]
    figure = Figure(figsize=(11, 1.6 + 0.75 * len(slots)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    end_s = max((span.end_s for span in spans), default=1.0)
    scale, unit = _unit(end_s)
    colours = {tenant: _COLOURS[rank % len(_COLOURS)] for rank, tenant in enumerate(sorted({s.tenant for s in spans}))}
    _bars(axes, spans, slots, scale, colours)
    _labels(axes, spans, slots, scale, end_s)
    axes.set_yticks(range(len(slots)), [f"slot {slot}" for slot in slots])
    axes.set_ylim(len(slots) - 0.5, -0.5)
    axes.set_xlim(0, end_s * scale * 1.01)
    axes.set_xlabel(f"board time ({unit})")
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    _legend(figure, colours, any(not span.ok for span in spans))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _unit(end_s: float) -> tuple[float, str]:
    return (1e6, "us") if end_s < 1e-3 else (1e3, "ms") if end_s < 1 else (1.0, "s")


def _bars(
    axes: Any, spans: Sequence[TimelineSpan], slots: Sequence[int], scale: float, colours: Mapping[str, str]
) -> None:
    """All spans, those that look alike and stand in one row at once: hundreds of bars one by one take a second.

    The edge has the bar's own colour, so that the shortest item still shows.
    """
    alike: dict[tuple[int, str, bool, bool], list[tuple[float, float]]] = {}
    for span in spans:
        look = slots.index(span.slot), colours[span.tenant], span.kind == "reconfigure", span.ok
        alike.setdefault(look, []).append((span.start_s * scale, (span.end_s - span.start_s) * scale))
    for (row, colour, load, ok), stretches in alike.items():
        axes.broken_barh(
            stretches,
            (row - _BAR_HEIGHT / 2, _BAR_HEIGHT),
            facecolor=_tint(colour) if load else colour,
            hatch="////" if load else None,
            edgecolor="#CC0000" if not ok else "white" if load else colour,
            linewidth=0.6 if ok else 1.4,
            zorder=2 if load else 3,
        )


def _tint(colour: str) -> tuple[float, float, float]:
    """A colour mixed with three parts of white."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (0.25 * part + 0.75 for part in parts)
    return red, green, blue


def _labels(axes: Any, spans: Sequence[TimelineSpan], slots: Sequence[int], scale: float, end_s: float) -> None:
    """Name every load, and every unbroken run of items without a load before it, upright where it is narrow."""
    for first, last in _stretches(spans):
        width = (last.end_s - first.start_s) / end_s
        if width < _NARROWEST:
            continue
        middle = (first.start_s + last.end_s) / 2 * scale
        upright = width < _CHARACTER * len(first.task)
        box = {"boxstyle": "round,pad=0.12", "facecolor": "white", "alpha": 0.8, "edgecolor": "none"}
        axes.text(
            middle,
            slots.index(first.slot),
            first.task,
            ha="center",
            va="center",
            fontsize=7,
            rotation=90 if upright else 0,
            bbox=box,
            zorder=4,
        )


def _stretches(spans: Sequence[TimelineSpan]) -> list[tuple[TimelineSpan, TimelineSpan]]:
    """First and last span of what is labelled once: a load with the items after it, or a run of items without one."""
    found: list[tuple[TimelineSpan, TimelineSpan]] = []
    for span in sorted((s for s in spans if s.kind != "reset"), key=lambda span: (span.slot, span.start_s)):
        before = found[-1][1] if found else None
        same = before is not None and (before.slot, before.job, before.task) == (span.slot, span.job, span.task)
        if span.kind == "run" and same:
            found[-1] = (found[-1][0], span)
        else:
            found.append((span, span))
    return found


def _legend(figure: Any, colours: dict[str, str], faults: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, label=tenant) for tenant, colour in colours.items()]
    handles.append(Patch(facecolor=_tint("#555555"), hatch="////", edgecolor="white", label="reconfiguring"))
    if faults:
        handles.append(Patch(facecolor="white", edgecolor="#CC0000", label="ended in a fault"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)), frameon=False, fontsize=9)
