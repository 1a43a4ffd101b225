# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Figures 5.3 to 5.10 of [000]: prices by iteration, speedups and shares of user sets, utilisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import numpy as np
from eddy.market import equilibrium

from eddy_studies import pictures
from eddy_studies.report import Row, write_csv
from eddy_studies.vayalapra import slicing
from eddy_studies.vayalapra.clusters import CONFIGURATIONS
from eddy_studies.vayalapra.users import MECHANISMS, USER_SETS, WEIGHTS, Outcome, choose_best, configuration, outcome

WINDOW_S, QUICK_S = 10.0, 0.5
"""Board seconds of a run: [000]'s fixed duration, and one to see that it works."""
UNSTATED = "not stated in the text"
NEAR = 0.02
"""How far a measured speedup may be below that of the entitlement run: slices are whole, and the window ends."""

Results = Mapping[tuple[str, str, str], Outcome]


def results(window_s: float, say: Callable[[str], None]) -> Results:
    """Every user set on every configuration under every mechanism."""
    found = {}
    for user_set in USER_SETS:
        for name in CONFIGURATIONS:
            for mechanism in MECHANISMS:
                found[user_set, name, mechanism] = outcome(user_set, name, mechanism, window_s)
            said = ", ".join(f"{x:.2f}" for x in found[user_set, name, "market"].speedup)
            say(f"user set {user_set}, {name}: speedups on the market {said}")
    return found


def headlines(found: Results) -> dict[str, object]:
    """User sets' speedups, shares and utilisation, and the configuration chosen, as numbers."""
    sets: dict[str, dict[str, dict[str, object]]] = {s: {name: {} for name in CONFIGURATIONS} for s in USER_SETS}
    for (user_set, name, mechanism), one in found.items():
        sets[user_set][name][mechanism] = {
            **{"speedup": _list(one.speedup), "shares": _list(one.shares), "utilisation": round(one.utilisation, 6)},
            "utilisation_in_turns": round(one.in_turns, 6),
            **{"modelled_speedup": _list(one.promised), "delivered": _list(one.given), "prices": _list(one.prices)},
        }
    return {"user_sets": sets, "chosen": {user_set: choose_best(user_set)[0] for user_set in USER_SETS}}


def _list(array: object) -> object:
    return np.round(np.asarray(array), 6).tolist()


def figure_5_3(out: Path) -> list[Row]:
    """Prices and epsilon by iteration on the sample configuration of Tables 5.1 and 5.2."""
    here = configuration(USER_SETS["2"], "CFG1")
    numbers = here.parallel_fraction, here.throughput, WEIGHTS, here.capacity
    run = equilibrium(*numbers, method="proportional_response", epsilon=1e-10, history=True)
    exact = equilibrium(*numbers)
    assert run.history is not None
    prices, epsilon = run.history.prices, run.history.epsilon
    records = [
        {
            **{"iteration": k + 1, "epsilon": f"{epsilon[k]:.3e}", "error": f"{np.abs(p - exact.prices).max():.3e}"},
            **{f"price_{c + 1}": round(float(value), 8) for c, value in enumerate(p)},
        }
        for k, p in enumerate(prices[:1000])
    ]
    write_csv(out / "figure_5_3.csv", records)
    pictures.convergence(out / "figure_5_3.png", prices, epsilon)
    at = {limit: int(np.argmax(epsilon < limit)) + 1 for limit in (1e-4, 1e-5)}
    alike = abs(prices[-1][0] / prices[-1][1] - 1)
    text = ", ".join(f"{p:.4f}" for p in exact.prices)
    return [
        Row("5.3", "iterations until prices change by less than 1e-4", "15", str(at[1e-4])),
        Row("5.3", "iterations until prices change by less than 1e-5", "order of 100", str(at[1e-5])),
        Row("5.3", "clusters 1 and 2 cost the same", "yes", f"yes, to {alike:.0e}" if alike < 1e-6 else "no"),
        Row("5.3", "prices of clusters 1 to 4, per PE", UNSTATED, text, "Newton's; a residual of 1e-11 or less"),
    ]


def _user_set(figure: str, user_set: str, out: Path, found: Results) -> list[Row]:
    """Speedups and shares on the market (Figures 5.4 to 5.6)."""
    own = {name: found[user_set, name, "market"] for name in CONFIGURATIONS}
    _records(out / f"figure_{figure.replace('.', '_')}.csv", user_set, found, ("market",))
    pictures.speedups_and_shares(out / f"figure_{figure.replace('.', '_')}.png", own)
    rows = []
    for name, one in own.items():
        fair = one.speedup / found[user_set, name, "entitlement"].speedup
        text = ", ".join(f"{x:.2f} ({ratio:.2f})" for x, ratio in zip(one.speedup, fair, strict=True))
        note = "holds" if fair.min() >= 1 - NEAR else "does not hold"
        what = f"user set {user_set}, {name}: speedups of users 1 to 3 (over their entitlement run)"
        rows.append(Row(figure, what, f"{UNSTATED} (1 or more)", text, note))
        for user, shares in enumerate(one.shares, 1):
            what = f"user set {user_set}, {name}: PEs of user {user} on clusters 1 to 4"
            rows.append(Row(figure, what, UNSTATED, ", ".join(f"{x:.2f}" for x in shares)))
    return rows


def figure_5_4(out: Path, found: Results) -> list[Row]:
    """User set 1."""
    rows = _user_set("5.4", "1", out, found)
    for name in ("CFG1", "CFG2"):
        fpu = [c for c, cluster in enumerate(CONFIGURATIONS[name]) if cluster.fpu]
        held = float(found["1", name, "market"].shares[0, fpu].sum())
        what = f"user set 1, {name}: PEs of user 1 on clusters with FPUs"
        rows.append(Row("5.4", what, "0", f"{held:.3f}", "holds" if held < 1e-3 else "does not hold"))
    name, means = choose_best("1")
    text = f"{name} ({', '.join(f'{key} {value:.3f}' for key, value in means.items())})"
    rows.append(Row("5.4", "configuration of most Nash welfare, user set 1 (mean speedups)", "CFG2", text))
    return rows


def figure_5_5(out: Path, found: Results) -> list[Row]:
    """User set 2."""
    rows = _user_set("5.5", "2", out, found)
    name, means = choose_best("2")
    text = f"{name} ({', '.join(f'{key} {value:.3f}' for key, value in means.items())})"
    return [*rows, Row("5.5", "configuration of most Nash welfare, user set 2 (mean speedups)", UNSTATED, text)]


def figure_5_6(out: Path, found: Results) -> list[Row]:
    """User set 3: everybody runs the same."""
    rows = _user_set("5.6", "3", out, found)
    for name in CONFIGURATIONS:
        speedup = found["3", name, "market"].speedup
        text = f"{speedup[0] / speedup[2]:.3f}, {speedup[1] / speedup[0]:.3f}"
        rows.append(Row("5.6", f"user set 3, {name}: speedups of users 1 over 3, 2 over 1", "1, -", text))
    name, means = choose_best("3")
    text = f"{name} ({', '.join(f'{key} {value:.3f}' for key, value in means.items())})"
    return [*rows, Row("5.6", "configuration of most Nash welfare, user set 3 (mean speedups)", UNSTATED, text)]


def _baseline(figure: str, mechanism: str, out: Path, found: Results) -> list[Row]:
    """Another mechanism's speedups, beside the market's (Figures 5.8 and 5.9)."""
    stem = f"figure_{figure.replace('.', '_')}"
    write_csv(
        out / f"{stem}.csv",
        [record for user_set in USER_SETS for record in _of(user_set, found, (mechanism,))],
    )
    pictures.beside_the_market(out / f"{stem}.png", found, mechanism)
    rows = []
    for user_set in USER_SETS:
        for name in CONFIGURATIONS:
            own, market = found[user_set, name, mechanism].speedup, found[user_set, name, "market"].speedup
            text = ", ".join(f"{x:.2f} ({ratio:.2f})" for x, ratio in zip(own, market / own, strict=True))
            what = f"user set {user_set}, {name}: speedups of users 1 to 3 (market over it)"
            rows.append(Row(figure, what, UNSTATED, text))
    return rows


def figure_5_8(out: Path, found: Results) -> list[Row]:
    """Entitlement."""
    rows = _baseline("5.8", "entitlement", out, found)
    ratios = {
        (s, name): found[s, name, "market"].speedup / found[s, name, "entitlement"].speedup
        for s in USER_SETS
        for name in CONFIGURATIONS
    }
    least, most = min(r.min() for r in ratios.values()), max(r.max() for r in ratios.values())
    first = max(ratios["1", name][0] for name in ("CFG1", "CFG2"))
    holds = "holds" if least >= 1 - NEAR else "does not hold"
    kept = slicing.check_promises()
    sliced = [
        Row(
            "5.8",
            f"{kept[how].markets} random markets, {words}: somebody below its entitlement; the worst",
            "none" if how == "by_cores" else UNSTATED,
            f"{kept[how].broken} markets; {kept[how].worst:.3f}",
        )
        for how, words in (("by_cores", "floor or ceil cores in time"), ("by_clusters", "whole clusters in turns"))
    ]
    return [
        *rows,
        *sliced,
        Row("5.8", "least speedup over the entitlement run, all users and sets", "1 or more", f"{least:.3f}", holds),
        Row("5.8", "largest speedup over the entitlement run", "up to 2", f"{most:.2f}"),
        Row("5.8", "user 1 of user set 1 over its entitlement run, CFG1 or CFG2", "up to 2", f"{first:.2f}"),
    ]


def figure_5_9(out: Path, found: Results) -> list[Row]:
    """Weighted equal speedup."""
    return _baseline("5.9", "equal_speedup", out, found)


def _utilisation(figure: str, mechanisms: tuple[str, ...], out: Path, found: Results) -> list[Row]:
    stem = f"figure_{figure.replace('.', '_')}"
    records = [
        {
            **{"user_set": s, "configuration": name},
            **{m: round(found[s, name, m].utilisation, 5) for m in mechanisms},
            **{f"{m}_in_turns": round(found[s, name, m].in_turns, 5) for m in mechanisms},
        }
        for s in USER_SETS
        for name in CONFIGURATIONS
    ]
    write_csv(out / f"{stem}.csv", records)
    pictures.utilisation(out / f"{stem}.png", found, mechanisms)
    return [
        Row(
            figure,
            f"user set {s}, {name}: utilisation with {', '.join(mechanisms)}",
            UNSTATED,
            ", ".join(f"{found[s, name, m].utilisation:.1%}" for m in mechanisms),
        )
        for s in USER_SETS
        for name in CONFIGURATIONS
    ]


def figure_5_7(out: Path, found: Results) -> list[Row]:
    """Utilisation on the market, and what became of the rest."""
    return [
        *_utilisation("5.7", ("market",), out, found),
        *(_wasted(s, name, found) for s, name in product(USER_SETS, CONFIGURATIONS)),
    ]


def _wasted(user_set: str, name: str, found: Results) -> Row:
    """What utilisation is short of 100 % by: cores that ran nothing, and cores that did less than one alone."""
    one, cores = found[user_set, name, "market"], sum(cluster.cores for cluster in CONFIGURATIONS[name])
    idle = 1 - float(one.given.sum()) / cores
    by_user = ", ".join(f"{lost:.1%}" for lost in one.lost.sum(axis=1) / cores)
    what = f"user set {user_set}, {name}: core-seconds idle; lost to users 1 to 3 by running on several cores at once"
    return Row("5.7", what, UNSTATED, f"{abs(idle):.1%}; {by_user}")


def figure_5_10(out: Path, found: Results) -> list[Row]:
    """Utilisation under all mechanisms."""
    rows = _utilisation("5.10", MECHANISMS, out, found)
    gains = [
        found[s, name, "market"].utilisation / found[s, name, other].utilisation - 1
        for s in USER_SETS
        for name in CONFIGURATIONS
        for other in MECHANISMS[1:]
    ]
    text = f"{max(gains):+.1%} at most, {min(gains):+.1%} at least"
    rows.append(Row("5.10", "utilisation on the market over the others', all by cores", "up to 10 % higher", text))
    for s in USER_SETS:
        over = [
            found[s, name, "market"].utilisation / found[s, name, other].in_turns - 1
            for name in CONFIGURATIONS
            for other in MECHANISMS[1:]
        ]
        what = f"user set {s}: utilisation on the market over the others', these in turns on whole clusters ([000] 5.3)"
        rows.append(Row("5.10", what, "up to 10 % higher", f"{max(over):+.1%} at most, {min(over):+.1%} at least"))
    return rows


def _of(user_set: str, found: Results, mechanisms: tuple[str, ...]) -> list[dict[str, object]]:
    """A record for every user and cluster."""
    records: list[dict[str, object]] = []
    for name, clusters in CONFIGURATIONS.items():
        for mechanism in mechanisms:
            one = found[user_set, name, mechanism]
            for user, own in enumerate(USER_SETS[user_set]):
                for c, workload in enumerate(own):
                    records.append(
                        {
                            **{"user_set": user_set, "configuration": name, "mechanism": mechanism, "user": user + 1},
                            **{"cluster": c + 1, "workload": workload, "cores": clusters[c].cores},
                            **{"pes": round(float(one.shares[user, c]), 5)},
                            **{"pes_delivered": round(float(one.given[user, c]), 5)},
                            **{"price": round(float(one.prices[c]), 6), "speedup": round(float(one.speedup[user]), 5)},
                            **{"modelled_speedup": round(float(one.promised[user]), 5)},
                        }
                    )
    return records


def _records(path: Path, user_set: str, found: Results, mechanisms: tuple[str, ...]) -> None:
    write_csv(path, _of(user_set, found, mechanisms))


FIGURES: Mapping[str, Callable[[Path, Results], list[Row]]] = {
    "5.3": lambda out, found: figure_5_3(out),
    **{"5.4": figure_5_4, "5.5": figure_5_5, "5.6": figure_5_6, "5.7": figure_5_7},
    **{"5.8": figure_5_8, "5.9": figure_5_9, "5.10": figure_5_10},
}
