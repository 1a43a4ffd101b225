# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which policy a name and a variant stand for."""

from __future__ import annotations

from eddy.core.errors import InvalidRequest
from eddy.policy.dispatch import POLICIES

from eddy_studies.nimblock.artefact import ARTEFACTS
from eddy_studies.nimblock.run import Player

VARIANTS = ("thesis", "published", "artefact")
"""`thesis`: as the text of [004] has the policy. `published`: as its authors' program has it, on the setting's machine.
`artefact`: the whole of that program, with its polling loop, console and SD card."""


def make_player(name: str, variant: str = "thesis") -> Player:
    """The policy `name` as a variant has it; all of the thesis' pipeline. What it may use of the machine is the
    `BoardSetting`'s, not the player's.

    Raises:
        InvalidRequest: There is no such policy or variant.
    """
    if name not in POLICIES:
        raise InvalidRequest(f"no policy {name!r}", field="policy", allowed=sorted(POLICIES))
    if variant not in VARIANTS:
        raise InvalidRequest(f"no variant {variant!r}", field="variant", allowed=list(VARIANTS))
    if variant != "thesis" and name in ARTEFACTS:
        return Player(ARTEFACTS[name](), published_goals=True, polled=variant == "artefact")
    return Player(POLICIES[name](pipelined=True))
