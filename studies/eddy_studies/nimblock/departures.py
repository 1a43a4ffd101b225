"""The artefact's schedulers without one of their departures from [004]'s text each, to see what each costs."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.policy.dispatch.views.view import DispatchPolicy

from eddy_studies.nimblock.artefact import ARTEFACTS
from eddy_studies.nimblock.artefact.nimblock import AS_TEXT, ArtefactNimblock
from eddy_studies.nimblock.artefact.round_robin import ArtefactRoundRobin
from eddy_studies.nimblock.run import Player


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
