"""The pools of slots: which policy decides about which slots, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eddy.core.slots import Pool
from eddy.hypervisor.job import Fits
from eddy.policy.dispatch.view import DispatchPolicy, Observation


@dataclass(frozen=True, slots=True)
class PoolSlots:
    """The slots of a pool beside the `pipeline` pool.

    Attributes:
        slots: Index to expected load time in seconds.
        policy: Who gets which of them.
    """

    slots: Mapping[int, float]
    policy: DispatchPolicy


class PoolState:
    """One pool inside the state machine.

    Args:
        pool: Which.
        policy: Who gets which of its slots.
        slots: Their indices.
        fits: Module to slot to image; what is for other slots is left out.
    """

    def __init__(self, pool: Pool, policy: DispatchPolicy, slots: Iterable[int], fits: Fits) -> None:
        self.pool, self.policy, self.slots = pool, policy, frozenset(slots)
        self.fits = {module: {s: i for s, i in images.items() if s in self.slots} for module, images in fits.items()}
        self.memory: Any = policy.initial()
        self.observations: list[Observation] = []
        self.wake_s: float | None = None
