# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The published method for computation-intensive jobs ([002] 3.1): Algorithm 1, then Algorithm 2."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Instance, Ints, Placement
from eddy.policy.place.relaxation import relax
from eddy.policy.place.rounding import round_shares
from eddy.policy.place.schedule import make_placement, makespan_of


def assign(time_s: Floats, ready_s: Floats) -> tuple[Ints, float]:
    """Assignment and bound; raises AssertionError if Theorem 1 does not hold (it cannot, so a bug is found early).

    A job that some accelerators compute in no time is placed there, in turns, and the program is about the others.
    """
    computes = time_s.min(axis=1) > 0
    host = np.zeros(len(time_s), np.int64)
    for turn, i in enumerate(np.flatnonzero(~computes).tolist()):
        free = np.flatnonzero(time_s[i] == 0)
        host[i] = free[turn % len(free)]
    if not computes.any():
        return host, 0.0
    relaxed = relax(time_s[computes].astype(np.float64), ready_s)
    host[computes] = round_shares(relaxed, int(computes.sum()))
    makespan = makespan_of(time_s, host, ready_s)
    if makespan > 2 * relaxed.value_s * (1 + 1e-6):
        raise AssertionError(f"[002] Theorem 1 is broken: makespan {makespan:g} s, bound {relaxed.value_s:g} s")
    return host, relaxed.bound_s


def computation(instance: Instance) -> Placement:
    """Place by CIM-LP and pseudo-tree rounding; sending is not looked at. At most twice the bound."""
    host, bound = assign(instance.time_s, instance.ready_s)
    return make_placement(instance, host, bound, "computation")
