# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Draw docs/images/market-utility.png: what shares of a cluster promise, and what slices of time can deliver."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from eddy.market.problem import Array, Market
from eddy.market.utility import by_cluster

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "market-utility.png"


def utility(name: str, fraction: float, shares: Array) -> Array:
    """Utility of shares of one cluster for a tenant of throughput 1."""
    one = np.ones(1)
    market = Market(np.array([[fraction]]), np.array([[1.0]]), one, one, name)
    return np.array([by_cluster(market, np.array([[share]]))[0, 0] for share in shares])


def main() -> None:
    """Draw it."""
    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, most in zip(axes, (2.0, 8.0), strict=True):
        shares = np.linspace(0, most, 400)
        for fraction, colour in ((0.5, "tab:red"), (0.9, "tab:blue"), (1.0, "tab:gray")):
            deliverable = utility("deliverable", fraction, shares)
            axis.plot(shares, deliverable, color=colour, label=f"F = {fraction}")
            axis.plot(shares, utility("amdahl", fraction, shares), color=colour, linestyle="--")
        axis.axvline(1, color="black", linewidth=0.5)
        axis.set_xlabel("share of the cluster, PEs")
        axis.set_ylabel("speedup")
        axis.set_xlim(0, most)
        axis.set_ylim(0)
    axes[0].set_title("Below one PE: dashed is (3.2), solid deliverable", fontsize=10)
    axes[1].set_title("Above one PE both are the same", fontsize=10)
    axes[1].legend()
    figure.savefig(TARGET, dpi=100)


if __name__ == "__main__":
    main()
