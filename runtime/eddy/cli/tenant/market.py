# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy market`: prices, and one's own shares of the clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server, connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.errors import InvalidRequest, NotFound
from eddy.host.distribution import install_hint

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


app = typer.Typer(help="Prices of the GPU clusters, and your shares of them.", invoke_without_command=True)

_BOARD = Column("Board", "board")
"""In a pool, whose boards each have a slot 0."""
_CLUSTERS = (
    Column("Slot", "slot", right=True),
    Column("Module", "module"),
    Column("Cores", "cores", right=True),
    Column("Price/PE", "price", right=True),
    Column("My bid", "bid", right=True),
    Column("My PEs", "pes", right=True),
    Column("Core-s", "core_seconds", right=True),
    Column("F", "parallel_fraction", right=True),
)


@app.callback()
def market(context: typer.Context, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Show prices, your bids, shares and speedups; nobody sees another's."""
    if context.invoked_subcommand is not None:
        return
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.market()
    if as_json:
        print_json(found)
        return
    mine = {_place(share): share for share in found["me"]["shares"]}
    rows = [_row(cluster, mine.get(_place(cluster), {})) for cluster in found["clusters"]]
    columns = (_BOARD, *_CLUSTERS) if any("board" in row for row in rows) else _CLUSTERS
    table(f"epoch {found['epoch']} since {found['at_s']:.6f} s, {found['price_policy']}", columns, rows)
    print("\n".join(_own_lines(found["me"])))


def _place(entry: Mapping[str, Any]) -> tuple[str, int]:
    """Board, "" where there is one only, and slot."""
    return str(entry.get("board", "")), int(entry["slot"])


def _row(cluster: Mapping[str, Any], share: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {"price": cluster["price"], **{k: v for k, v in share.items() if k not in cluster}}
    return {**cluster, **{name: f"{value:.4f}" for name, value in numbers.items()}}


def _own_lines(me: Mapping[str, Any]) -> list[str]:
    """One's own numbers, a line each."""
    names = {
        "weight": "weight",
        "entitlement": "entitlement",
        "promised_speedup": "promised speedup",
        "modelled_speedup": "modelled speedup",
        "measured_speedup": "measured speedup",
    }
    lines = [f"{text:<20}{'-' if me[name] is None else format(me[name], '.4f')}" for name, text in names.items()]
    fraction = me["parallel_fraction"]
    shown = "-" if fraction is None else f"{fraction:.4f} ({me['parallel_fraction_from']})"
    return [*lines, f"{'parallel fraction':<20}{shown}"]


@app.command("explain")
@asks_server
def explain(client: Client) -> Answer:
    """Say why you have the shares you have, what a PE more is worth, and what a doubled weight would change."""
    found = client.market_explained()
    yield found
    print("\n".join(found["words"]))


@app.command("plot")
@asks_server
def plot(
    client: Client,
    out: Annotated[Path, typer.Option("--out", help="PNG to write.")] = Path("market.png"),
) -> Answer:
    """Draw prices, your PEs and your speedups over board time, from the epochs that ended."""
    epochs = client.market_history()
    if not epochs:
        raise NotFound("No epoch has ended yet in which you had work.", field="epochs")
    history(out, epochs)
    yield {"out": str(out), "epochs": len(epochs)}
    print_status(f"{out}: {len(epochs)} epochs")


@app.command("set")
@asks_server
def set_policy(
    client: Client,
    policy: Annotated[str, typer.Argument(help="Name of a price policy.")],
) -> Answer:
    """Change the price policy while kernels run (the operator's key is needed)."""
    found = client.set_price_policy(policy)
    yield found
    print_status(f"price policy: {found['policy']}")
