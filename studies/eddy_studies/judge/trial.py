# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One sequence under every contender: response times, beside what they are measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy_studies.judge.demand import needs
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, responses_s, run
from eddy_studies.nimblock.workload import Arrival, EventSequence

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy and the machine it plays on.

    Attributes:
        policy: By name.
        setting: What the machine offers; see `BoardSetting`.
        variant: As in `make_player`.
    """

    policy: str
    setting: BoardSetting
    variant: str = "thesis"


MACHINES: Mapping[str, BoardSetting] = {
    "reload, block": BoardSetting(blocking=True, reuse=False),
    "reload, overlap": BoardSetting(blocking=False, reuse=False),
    "reuse, block": BoardSetting(blocking=True, reuse=True),
    "reuse, overlap": BoardSetting(blocking=False, reuse=True),
}
"""Every machine a policy is tried on: modules left in slots are used again or not, loads overlap or block."""
OURS = "eddy"
"""`eddy` on the machine it has live."""
RIVALS: Mapping[str, Contender] = {
    f"{name} ({machine})": Contender("nimblock", setting, variant)
    for name, variant in (("Nimblock's text", "thesis"), ("published Nimblock", "published"))
    for machine, setting in MACHINES.items()
} | {"published Nimblock on its board": Contender("nimblock", MACHINES["reload, block"], "artefact")}
"""Nimblock as the text has it and as it was published, on every machine; and the published program as it ran."""
CONTENDERS: Mapping[str, Contender] = {
    "exclusive": Contender("exclusive", MACHINES["reload, block"]),
    **RIVALS,
    **{
        f"eddy ({machine})": Contender("eddy", setting)
        for machine, setting in MACHINES.items()
        if "reuse, o" not in machine
    },
    OURS: Contender("eddy", MACHINES["reuse, overlap"]),
}
"""`exclusive` is what responses are relative to."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Outcomes, a row a sequence and a column an event.

    Attributes:
        single_s: Its time on a slot of its own ([004] 3.2.3).
        path_s: Its critical path, below which no schedule gets its response.
        response_s: By contender.
    """

    apps: npt.NDArray[np.str_]
    priority: npt.NDArray[np.int64]
    single_s: Array
    path_s: Array
    response_s: Mapping[str, Array]

    def of(self, rows: npt.NDArray[np.int64]) -> Trial:
        """Some of the sequences, as a bootstrap draws them."""
        return Trial(
            self.apps[rows],
            self.priority[rows],
            self.single_s[rows],
            self.path_s[rows],
            {name: values[rows] for name, values in self.response_s.items()},
        )


def strongest(trial: Trial) -> str:
    """The rival with the lowest mean response relative to `exclusive`."""
    return min(RIVALS, key=lambda name: float((trial.response_s[name] / trial.response_s["exclusive"]).mean()))


def run_trial(workload: EventSequence, sequences: Sequence[Sequence[Arrival]]) -> Trial:
    """Run every sequence under every contender."""
    responses: dict[str, list[list[float]]] = {name: [] for name in CONTENDERS}
    for events in sequences:
        for name, contender in CONTENDERS.items():
            player = make_player(contender.policy, contender.variant)
            result = run(workload, events, player, contender.setting)
            responses[name].append(responses_s(result, events))
    return Trial(
        np.array([[event.app for event in events] for events in sequences]),
        np.array([[event.priority for event in events] for events in sequences]),
        np.array([[workload.single_slot_s(event) for event in events] for events in sequences]),
        np.array([[demand.path_s for demand in needs(workload, events)] for events in sequences]),
        {name: np.array(rows) for name, rows in responses.items()},
    )
