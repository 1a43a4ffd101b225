# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy` remembers from call to call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.model.latency.learned import Latencies
from eddy.policy.dispatch.choosing.unshared_schedule import UnsharedSchedule


@dataclass(frozen=True, slots=True)
class PolicyMemory:
    """What is remembered from call to call.

    Attributes:
        predicted: Application to seconds an item of each of its tasks takes, as of `learned`.
        load_s: What a load takes, about.
        leaving: Slot to the (job, task) it is being taken from.
        fetched: (module, slot) of the image last asked to be read ahead.
        unshared: When jobs would end without sharing.
        reuses: Whether a module was seen in a slot that nobody held: the machine uses it again without a load.
    """

    learned: Latencies = field(default_factory=Latencies)
    predicted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    load_s: float = 0.0
    leaving: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    fetched: tuple[str, int] | None = None
    unshared: UnsharedSchedule = field(default_factory=UnsharedSchedule)
    reuses: bool = False
