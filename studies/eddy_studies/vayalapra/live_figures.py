# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the live user sets show, beside the study's windows: speedups, promises, and the configuration that is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from eddy.policy.price import POLICIES

from eddy_studies.report import Row, write_csv
from eddy_studies.vayalapra.clusters import CONFIGURATIONS
from eddy_studies.vayalapra.live import Live, LiveWindow
from eddy_studies.vayalapra.users import USER_SETS, WEIGHTS, choose_best

WINDOW_S, QUICK_S = 10.0, 0.5
QUANTUM_S = 5e-3
"""Coarser than live, so that there are fewer slices to play; promises are then harder to keep."""
LEARNING_S = 0.5
"""Under entitlement, before anything is shown: every kernel has run everywhere by then, and is known."""
LOOK_S, MAX_S = 0.2, 8.0
"""For the search of a configuration: seconds between two looks, and of the whole at most."""


def windows(user_set: str, name: str, seconds: float) -> dict[str, LiveWindow]:
    """A window under the market, and one under entitlement."""
    found = {}
    for policy in ("market", "entitlement"):
        live = Live(user_set, POLICIES["entitlement"](), name, quantum_s=QUANTUM_S)
        live.until(LEARNING_S)
        live.engine.intake.switch_price(POLICIES[policy]())
        live.until(2 * LEARNING_S)
        found[policy] = live.window(seconds)
    return found


def found_live(user_set: str, begin: str) -> tuple[str, float]:
    """The configuration the fabric comes to hold from another one, and board seconds from the market's start to it."""
    live = Live(
        user_set,
        POLICIES["entitlement"](),
        begin,
        tuple(CONFIGURATIONS),
        quantum_s=QUANTUM_S,
        configure_s=LOOK_S,
    )
    live.until(LEARNING_S)
    began_s = came_s = live.engine.now_s
    live.engine.intake.switch_price(POLICIES["market"]())
    held = live.configuration
    while live.engine.now_s < began_s + MAX_S:
        live.until(live.engine.now_s + LOOK_S / 4)
        if live.configuration != held:
            held, came_s = live.configuration, live.engine.now_s
        if held and held != begin and live.engine.now_s > came_s + 5 * LOOK_S:
            break
    return held, came_s - began_s


def rows(out: Path, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Every user set on every configuration, live; and what is found from CFG3."""
    told, records, least, most_off = [], [], 10.0, 0.0
    for user_set in USER_SETS:
        for name in CONFIGURATIONS:
            both = windows(user_set, name, QUICK_S if quick else WINDOW_S)
            market, fair = both["market"], both["entitlement"]
            over = market.speedup / fair.speedup
            least, most_off = min(least, float(over.min())), max(most_off, float(abs(market.off).max()))
            text = ", ".join(f"{x:.2f} ({ratio:.2f})" for x, ratio in zip(market.speedup, over, strict=True))
            say(f"live, user set {user_set}, {name}: {text}")
            what = f"user set {user_set}, {name}: speedups of users 1 to 3 (over their entitlement run), live"
            told.append(Row("live", what, "", text, f"cores busy {market.busy:.1%}"))
            records += [
                {
                    **{"user_set": user_set, "configuration": name, "mechanism": policy, "user": user + 1},
                    **{"weight": WEIGHTS[user], "speedup": round(float(window.speedup[user]), 5)},
                    **{f"pes_{c + 1}": round(float(x), 5) for c, x in enumerate(window.had[user])},
                    **{f"promised_{c + 1}": round(float(x), 5) for c, x in enumerate(window.promised[user])},
                    "off": round(float(window.off[user]), 6),
                }
                for policy, window in both.items()
                for user in range(len(WEIGHTS))
            ]
    write_csv(out / "live.csv", records)
    told.append(Row("live", "least speedup over the entitlement run, live", "1 or more", f"{least:.3f}"))
    told.append(Row("live", "share of all that was had, furthest off the promised one", "", f"{most_off:.3%}"))
    name, took_s = found_live("1", "CFG3")
    what = "user set 1, live from CFG3: configuration found, and the fabric at it after"
    note = "holds" if name == choose_best("1")[0] else "does not hold"
    return [*told, Row("live", what, "CFG2", f"{name}, {took_s:.2f} s", note)]
