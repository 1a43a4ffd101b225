# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every scheduler of [004] on drawn sequences: response times relative to the board that is not shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy_studies.judge.sequences import drawn, workload
from eddy_studies.nimblock.artefact import ARTEFACTS
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, Player, responses_s, run
from eddy_studies.nimblock.validation import POLICIES
from eddy_studies.nimblock.workload import Arrival

Array = npt.NDArray[np.float64]

BASELINE = "exclusive"
"""No sharing, [004] 3.1."""
SHARING = tuple(policy for policy in POLICIES if policy != BASELINE)
SCALES = np.arange(1, 20.01, 0.25)
"""Deadline scaling factors D_s ([004] 3.2.3)."""
HIGH = 9
"""The priority whose deadlines [004] looks at."""


@dataclass(frozen=True, slots=True)
class SequenceOutcome:
    """Every event of a set of sequences under every policy.

    Attributes:
        priority: Of each event.
        single_s: Its time on a slot of its own.
        response_s: By policy.
    """

    priority: npt.NDArray[np.int64]
    single_s: Array
    response_s: Mapping[str, Array]

    def relative(self, policy: str) -> Array:
        """Responses over those of the same events on the board that is not shared (figures 3.1 and 3.2)."""
        return self.response_s[policy] / self.response_s[BASELINE]

    def failures(self, policy: str) -> Array:
        """Rate of high-priority events past their deadline, by `SCALES` (figures 3.4 and 3.5)."""
        high = self.priority == HIGH
        slowdown = self.response_s[policy][high] / self.single_s[high]
        return np.asarray((slowdown[None, :] > SCALES[:, None]).mean(axis=1), dtype=np.float64)

    def ten_percent(self, policy: str) -> float:
        """The least D_s from which on one in ten fails at most, infinite where there is none."""
        above = np.flatnonzero(self.failures(policy) > 0.1)
        if not len(above):
            return float(SCALES[0])
        return float(SCALES[above[-1] + 1]) if above[-1] + 1 < len(SCALES) else float("inf")


def run_sequences(arrivals: str, seeds: Sequence[int], say: Callable[[str], None]) -> dict[str, SequenceOutcome]:
    """Run drawn sequences, with measured latencies and blocking loads, by whose schedulers they are.

    "the text" has everyone pipelined; "the artefact" only Nimblock; "the artefact, baseline pipelined" is the latter,
    relative to a board that is not shared but on which applications may pipeline, as the text says of it.

    Args:
        arrivals: A key of `eddy_studies.judge.sequences.ARRIVALS`.
        seeds: A sequence each.
        say: Told what is being done.
    """
    sequences = [drawn(arrivals, seed) for seed in seeds]
    every = [event for events in sequences for event in events]
    priority = np.array([event.priority for event in every])
    single_s = np.array([workload().single_slot_s(event) for event in every])
    responses: dict[str, dict[str, Array]] = {}
    for way, variant in (("the text", "thesis"), ("the artefact", "artefact")):
        say(f"{arrivals}, {variant}: {len(seeds)} sequences under {len(POLICIES)} policies")
        responses[way] = {policy: _responses(sequences, make_player(policy, variant)) for policy in POLICIES}
    baseline = Player(ARTEFACTS[BASELINE](pipelined=True), published_goals=True, polled=True)
    responses["the artefact, baseline pipelined"] = {
        **responses["the artefact"],
        BASELINE: _responses(sequences, baseline),
    }
    return {way: SequenceOutcome(priority, single_s, by_policy) for way, by_policy in responses.items()}


def _responses(sequences: Sequence[Sequence[Arrival]], player: Player) -> Array:
    return np.array(
        [
            response
            for events in sequences
            for response in responses_s(run(workload(), events, player, BoardSetting()), events)
        ]
    )
