# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The schedulers as [004]'s published artefact has them, where that departs from the text.

They are written for a polling hypervisor: each call is one turn of its loop, at most one task is given a slot, and a
call may change nothing but what is remembered, in which case the loop turns again.
`docs/explanations/nimblock-artefact.md` says what differs from the text and what it costs.
"""

from collections.abc import Callable, Mapping

from eddy.policy.dispatch.views.view import DispatchPolicy

from eddy_studies.nimblock.artefact.fcfs import ArtefactFirstCome
from eddy_studies.nimblock.artefact.nimblock import ArtefactNimblock
from eddy_studies.nimblock.artefact.prema import ArtefactPrema
from eddy_studies.nimblock.artefact.round_robin import ArtefactRoundRobin


def _exclusive(pipelined: bool = False) -> DispatchPolicy:
    return ArtefactFirstCome(pipelined=pipelined, sharing=False, name="exclusive")


ARTEFACTS: Mapping[str, Callable[..., DispatchPolicy]] = {
    "exclusive": _exclusive,
    "fcfs": ArtefactFirstCome,
    "nimblock": ArtefactNimblock,
    "prema": ArtefactPrema,
    "round_robin": ArtefactRoundRobin,
}
"""Name to what makes the artefact's version; only Nimblock pipelines where `pipelined` is left out, as in its logs."""

__all__ = ["ARTEFACTS"]
