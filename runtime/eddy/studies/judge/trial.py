"""One sequence under every contender: response times, beside what they are measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddy.studies.nimblock.policies import make_player
from eddy.studies.nimblock.run import Setting, responses_s, run
from eddy.studies.nimblock.workload import Event, Workload

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy and how the board loads for it."""

    policy: str
    blocking: bool
    variant: str = "thesis"


CONTENDERS: Mapping[str, Contender] = {
    "exclusive": Contender("exclusive", blocking=True),
    "nimblock": Contender("nimblock", blocking=True),
    "nimblock, async": Contender("nimblock", blocking=False),
    "nimblock, artefact": Contender("nimblock", blocking=True, variant="artefact"),
    "eddy": Contender("eddy", blocking=False),
}
"""`exclusive` is what responses are relative to; `nimblock, artefact` is the published scheduler with its departures
from the thesis' text, which the goals do not name, but which was the one that ran on the board."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Outcomes, a row a sequence and a column an event.

    Attributes:
        apps: Application of each event.
        priority: Its priority.
        single_s: Its time on a slot of its own ([004] 3.2.3).
        response_s: By contender.
    """

    apps: npt.NDArray[np.str_]
    priority: npt.NDArray[np.int64]
    single_s: Array
    response_s: Mapping[str, Array]

    def of(self, rows: npt.NDArray[np.int64]) -> Trial:
        """Some of the sequences, as a bootstrap draws them."""
        return Trial(
            self.apps[rows],
            self.priority[rows],
            self.single_s[rows],
            {name: values[rows] for name, values in self.response_s.items()},
        )


def hold(workload: Workload, sequences: Sequence[Sequence[Event]]) -> Trial:
    """Run every sequence under every contender."""
    responses: dict[str, list[list[float]]] = {name: [] for name in CONTENDERS}
    for events in sequences:
        for name, contender in CONTENDERS.items():
            player = make_player(contender.policy, contender.variant)
            result = run(workload, events, player, Setting(measured=True, blocking=contender.blocking))
            responses[name].append(responses_s(result, events))
    return Trial(
        np.array([[event.app for event in events] for events in sequences]),
        np.array([[event.priority for event in events] for events in sequences]),
        np.array([[workload.single_slot_s(event) for event in events] for events in sequences]),
        {name: np.array(rows) for name, rows in responses.items()},
    )
