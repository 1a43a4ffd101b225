# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What weighted fair queueing between tenants costs in mean response, on [004]'s workload with measured latencies.

Each sequence is played twice: under `FairShare` around the policy, as live, and under the policy alone, whose rank then
goes over the jobs of all tenants. Events are dealt to the tenants in turn; modules stay in slots and are scrubbed
between tenants. Fresh sequences of every kind of arrivals, of the draws of `eddy_studies.judge`.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any
from unittest.mock import patch

from eddy.hypervisor.machine.virtual import run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy_studies.judge.sequences import ARRIVALS, DRAWS, drawn, workload
from eddy_studies.nimblock.run import BoardSetting, board_of, jobs_of, latencies_of, responses_s

FIRST_SEED = 5000
TENANTS = (1, 2, 4)
SETTING = BoardSetting(blocking=False, reuse=True, scrub=True)


def mean_response_s(policy: DispatchPolicy, tenants: int, arrivals: str, seed: int, draw: str) -> float:
    """The mean response of a sequence whose events are of so many tenants in turn."""
    study, events = workload(), drawn(arrivals, seed, draw)
    jobs = [dataclasses.replace(job, tenant=f"t{job.id % tenants}") for job in jobs_of(study, events)]
    load_s = {slot: time.storage_s + time.port_s for slot, time in SETTING.load_times(study).items()}
    board = board_of(study, SETTING, latencies_of(study, SETTING))
    result = run_virtual(board, policy, jobs, load_s=load_s, residency=SETTING.residency)
    found = responses_s(result, events)
    return sum(found) / len(found)


def costs(name: str, sequences: int, draw: str) -> dict[str, float]:
    """Mean response with fair queueing over that without, by number of tenants."""

    def alone(policy: DispatchPolicy) -> DispatchPolicy:
        return policy

    def total_s(tenants: int) -> float:
        seeds = range(FIRST_SEED, FIRST_SEED + sequences)
        return sum(mean_response_s(POLICIES[name](), tenants, kind, seed, draw) for kind in ARRIVALS for seed in seeds)

    fair_s = {tenants: total_s(tenants) for tenants in TENANTS}
    with patch("eddy.hypervisor.machine.machine.FairShare", alone):
        return {str(tenants): fair_s[tenants] / total_s(tenants) for tenants in TENANTS}


OPTIONS: dict[str, dict[str, Any]] = {
    "--policy": {"default": "eddy", "choices": sorted(POLICIES)},
    "--sequences": {"type": int, "default": 4, "metavar": "N", "help": "of each kind of arrivals and draw (4)"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Mean response with fair queueing over that without, by draw and number of tenants."""
    return {draw: costs(options.policy, options.sequences, draw) for draw in DRAWS}
