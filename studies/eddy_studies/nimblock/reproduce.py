# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce nimblock`: figures 3.1 to 3.5 of [004], the published board runs, and what departures cost."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from eddy.policy.dispatch.views.view import DispatchPolicy

from eddy_studies.judge.sequences import ARRIVALS, workload
from eddy_studies.nimblock import figures, published
from eddy_studies.nimblock.artefact import ARTEFACTS
from eddy_studies.nimblock.artefact.nimblock import AS_TEXT, ArtefactNimblock
from eddy_studies.nimblock.artefact.round_robin import ArtefactRoundRobin
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, Player
from eddy_studies.nimblock.sequences import run_sequences
from eddy_studies.nimblock.validation import POLICIES, agreement, document, recorded
from eddy_studies.report import Row, write_csv


def _taken_back(what: str) -> Player:
    return Player(ArtefactNimblock(rules=AS_TEXT[what]), published_goals=True, polled=True)


def _published(policy: DispatchPolicy) -> Player:
    return Player(policy, published_goals=True, polled=True)


def _everywhere(policy: str) -> dict[str, Player]:
    return {
        "its scheduler, events instead of a polling loop": Player(ARTEFACTS[policy]()),
        **(
            {"pipelined": Player(ARTEFACTS[policy](pipelined=True), published_goals=True, polled=True)}
            if policy != "nimblock"
            else {}
        ),
    }


DEPARTURES: Mapping[str, Mapping[str, Player]] = {
    **{policy: _everywhere(policy) for policy in ("exclusive", "fcfs", "prema")},
    "round_robin": {
        **_everywhere("round_robin"),
        "highest priority first": _published(ArtefactRoundRobin(inverted=False)),
    },
    "nimblock": {
        **_everywhere("nimblock"),
        "candidates only above the threshold": _taken_back("candidates"),
        "waiting counted once": _taken_back("age"),
        "no demotion of candidates": _taken_back("demotion"),
        "no more slots allocated than there are": _taken_back("allocation"),
    },
}
"""Policy to what is different, in words, to the player."""


SEQUENCES = 20
Say = Callable[[str], None]


def reproduce(out: Path, seed: int, quick: bool, say: Say) -> list[Row]:
    """Write every figure's data (`.csv`), picture (`.png`) and circumstances (`.md`) under `out`.

    Args:
        seed: First seed; the others follow it.
        quick: Two sequences a figure, and the published runs of Nimblock alone.
        say: Told what is being done.
    """
    count = 2 if quick else SEQUENCES
    seeds = range(seed, seed + count)
    by_arrivals = {arrivals: run_sequences(arrivals, seeds, say) for arrivals in ARRIVALS}
    ways = next(iter(by_arrivals.values()))
    outcomes = {way: {arrivals: by_arrivals[arrivals][way] for arrivals in ARRIVALS} for way in ways}
    rows = figures.relative(out, outcomes) + figures.tails(out, outcomes) + figures.deadlines(out, outcomes)
    rows += _board(out, ("nimblock",) if quick else POLICIES, say)
    command = f"eddy reproduce nimblock --out {out.name} --seed {seed}{' --quick' if quick else ''}"
    for picture in sorted(out.glob("figure_*.png")):
        _circumstances(picture, command, seed, count)
    return rows


def _circumstances(picture: Path, command: str, seed: int, count: int) -> None:
    opened = published.OPEN.format(sequences=count, tight=published.TIGHT)
    text = f"# {picture.stem}\n\n- command: `{command}`\n- seed: {seed}\n- commit: {_commit()}\n\n"
    picture.with_suffix(".md").write_text(f"{text}What the text leaves open:\n\n{opened}", encoding="utf-8")


def _commit() -> str:
    """The commit this code is of; "unknown" where it is not in a checkout."""
    here = Path(__file__).parent
    asked = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _board(out: Path, policies: tuple[str, ...], say: Say) -> list[Row]:
    """The published runs under the text, under the artefact, and without one of its departures each."""
    records: list[dict[str, object]] = []
    rows = []
    for policy in policies:
        say(f"published board runs: {policy}")
        runs = recorded(document(), policy, workload())
        players: dict[str, Player] = {
            "as the text": make_player(policy, "thesis"),
            "as the artefact": make_player(policy, "artefact"),
            **DEPARTURES.get(policy, {}),
        }
        for name, player in players.items():
            found = agreement(workload(), runs, player, BoardSetting())
            ours = f"mean {found.mean:.3f}, rank correlation {found.correlation:.3f}"
            rows.append(Row("board", f"{policy}, {name}: response over the measured", "1", ours))
            records.append(
                {
                    "policy": policy,
                    "player": name,
                    "mean": round(found.mean, 4),
                    "rank_correlation": round(found.correlation, 4),
                    "means": " ".join(f"{value:.3f}" for value in found.means),
                    "rank_correlations": " ".join(f"{value:.3f}" for value in found.correlations),
                }
            )
    write_csv(out / "board.csv", records)
    return rows
