"""Which policy a name and a variant stand for."""

from __future__ import annotations

from eddy.core.errors import InvalidRequest
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.artefact import ARTEFACTS
from eddy.studies.nimblock.machines import ReloadingMachine, StudyMachine
from eddy.studies.nimblock.run import Player

VARIANTS = ("thesis", "artefact")
REUSING = frozenset({"eddy"})
"""Policies for which a module that is still in a slot needs no load; the others load every time, as their text says."""


def make_player(name: str, variant: str = "thesis") -> Player:
    """The policy `name` as the thesis' text has it; all of them pipeline.

    Raises:
        InvalidRequest: There is no such policy or variant.
    """
    if name not in POLICIES:
        raise InvalidRequest(f"no policy {name!r}", field="policy", allowed=sorted(POLICIES))
    if variant not in VARIANTS:
        raise InvalidRequest(f"no variant {variant!r}", field="variant", allowed=list(VARIANTS))
    if variant == "artefact" and name in ARTEFACTS:
        return Player(ARTEFACTS[name](), artefact=True)
    return Player(POLICIES[name](pipelined=True), StudyMachine if name in REUSING else ReloadingMachine)
