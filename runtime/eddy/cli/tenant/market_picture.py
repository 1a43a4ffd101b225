"""The market's history as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest
from eddy.distribution import install_hint

SPEEDUPS = {"entitlement": "--", "promised_speedup": "-", "modelled_speedup": ":", "measured_speedup": "-"}
"""What is drawn of one's own numbers, and how."""


def history(path: Path, epochs: Sequence[Mapping[str, Any]]) -> None:
    """Prices, own PEs and own speedups by board time.

    Args:
        path: PNG to write; its folder is made if need be.
        epochs: As `GET /v1/market/history` lists them; one or more.

    Raises:
        InvalidRequest: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as missing:
        message = f"Pictures need matplotlib: {install_hint('studies')}. --json has the numbers."
        raise InvalidRequest(message, field="out") from missing
    figure = Figure(figsize=(7.0, 6.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, sharex=True)
    for slot in sorted({cluster["slot"] for epoch in epochs for cluster in epoch["clusters"]}):
        prices = [(e["at_s"], c["price"]) for e in epochs for c in e["clusters"] if c["slot"] == slot]
        shares = [(e["at_s"], s["pes"]) for e in epochs for s in e["me"]["shares"] if s["slot"] == slot]
        for axis, line in ((axes[0], prices), (axes[1], shares)):
            axis.plot(*zip(*line, strict=True), drawstyle="steps-post", marker=".", ms=3, label=f"slot {slot}")
    for name, style in SPEEDUPS.items():
        line = [(e["at_s"], e["me"][name]) for e in epochs if e["me"][name] is not None]
        if line:
            axes[2].plot(*zip(*line, strict=True), style, marker=".", ms=3, label=name.replace("_", " "))
    for axis, label in zip(axes, ("price of a PE", "my PEs", "speedup"), strict=True):
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8, loc="best")
    axes[2].set_xlabel("board time, s")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
