"""Figures 5.3 to 5.10 of [000]."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eddy_studies.vayalapra.users import MECHANISMS, Outcome

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
NAMES = {"market": "Fisher market", "entitlement": "entitlement", "equal_speedup": "weighted equal speedup"}
Results = Mapping[tuple[str, str, str], Outcome]


def _plots(rows: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _name_colours(figure: Any, axis: Any) -> None:
    """The legend below the panels, where it covers nothing."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=len(labels))


def convergence(path: Path, prices: NDArray[np.float64], epsilon: NDArray[np.float64]) -> None:
    """Prices and the largest change of one, by iteration (Figure 5.3)."""
    figure, axes = _plots(1, 2, 4.2, 3.2)
    count = min(len(epsilon), 200)
    for c in range(prices.shape[1]):
        style = "--" if c == 1 else "-"
        axes[0][0].plot(prices[:count, c], style, label=f"cluster {c + 1}", color=COLOURS[c % 4], lw=1.6)
    axes[0][0].set(xlabel="iteration", ylabel="price of a PE", xscale="symlog")
    axes[0][0].legend(fontsize=8)
    axes[0][1].semilogy(epsilon[:count], color=COLOURS[0])
    for limit in (1e-4, 1e-5):
        axes[0][1].axhline(limit, color="#999999", lw=0.8)
    axes[0][1].set(xlabel="iteration", ylabel="epsilon: largest change of a price")
    _save(figure, path)


def speedups_and_shares(path: Path, found: Mapping[str, Outcome]) -> None:
    """Speedups, and every cluster's PEs by user, for each configuration (Figures 5.4 to 5.6)."""
    figure, axes = _plots(2, len(found), 3.4, 2.5)
    for k, (name, one) in enumerate(found.items()):
        users = [f"user {i + 1}" for i in range(len(one.speedup))]
        axes[0][k].bar(users, one.speedup, color=COLOURS[: len(users)])
        axes[0][k].set_title(name, fontsize=10)
        below = np.zeros(one.shares.shape[1])
        clusters = [str(c + 1) for c in range(one.shares.shape[1])]
        for i, own in enumerate(one.shares):
            axes[1][k].bar(clusters, own, bottom=below, color=COLOURS[i], label=users[i])
            below += own
        axes[1][k].set_xlabel("cluster")
    axes[0][0].set_ylabel("speedup, measured")
    axes[1][0].set_ylabel("PEs")
    _name_colours(figure, axes[1][0])
    _save(figure, path)


def beside_the_market(path: Path, found: Results, mechanism: str) -> None:
    """Another mechanism's speedups, and in red the market's over them (Figures 5.8 and 5.9)."""
    sets, names = list(dict.fromkeys(k[0] for k in found)), list(dict.fromkeys(k[1] for k in found))
    figure, axes = _plots(1, len(sets), 3.8, 2.9)
    for axis, user_set in zip(axes[0], sets, strict=True):
        for i in range(3):
            at = np.arange(len(names)) + (i - 1) * 0.27
            own = [found[user_set, name, mechanism].speedup[i] for name in names]
            axis.bar(at, own, 0.25, color=COLOURS[i], label=f"user {i + 1}")
            for x, name, value in zip(at, names, own, strict=True):
                ratio = found[user_set, name, "market"].speedup[i] / value
                axis.annotate(f"{ratio:.2f}", (x, value), ha="center", va="bottom", fontsize=7, color="red")
        axis.set_xticks(range(len(names)), names)
        axis.margins(y=0.1)
        axis.set_title(f"user set {user_set}", fontsize=10)
    axes[0][0].set_ylabel(f"speedup, {NAMES[mechanism]}")
    _name_colours(figure, axes[0][0])
    _save(figure, path)


def utilisation(path: Path, found: Results, mechanisms: tuple[str, ...] = MECHANISMS) -> None:
    """Utilisation for each user set and configuration (Figures 5.7 and 5.10)."""
    sets, names = list(dict.fromkeys(k[0] for k in found)), list(dict.fromkeys(k[1] for k in found))
    figure, axes = _plots(1, len(sets), 3.4, 2.7)
    width = 0.8 / len(mechanisms)
    for axis, user_set in zip(axes[0], sets, strict=True):
        for k, mechanism in enumerate(mechanisms):
            at = np.arange(len(names)) + (k - (len(mechanisms) - 1) / 2) * width
            own = [100 * found[user_set, name, mechanism].utilisation for name in names]
            axis.bar(at, own, width * 0.95, color=COLOURS[k], label=NAMES[mechanism])
        axis.set_xticks(range(len(names)), names)
        axis.set_title(f"user set {user_set}", fontsize=10)
        axis.set_ylim(0, 105)
    axes[0][0].set_ylabel("utilisation, %")
    _name_colours(figure, axes[0][0])
    _save(figure, path)
