"""Work of an epoch in seconds that it takes alone, by tenant and cluster: what measured progress is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

MOSTLY = 0.5
"""Part of its core-seconds that must be of kernels whose speed alone is known; the rest is taken to be like that."""


@dataclass
class _Ended:
    core_s: float = 0.0
    known_core_s: float = 0.0
    alone_s: float = 0.0


@dataclass
class EpochWork:
    """Slices that ended since an epoch began."""

    _ended: dict[tuple[str, int], _Ended] = field(default_factory=dict)

    def clear(self) -> None:
        """An epoch begins."""
        self._ended.clear()

    def add_slice(self, tenant: str, slot: int, groups: int, took_s: float, group_s: float | None) -> None:
        """A slice ended.

        Args:
            tenant: Whose.
            slot: The cluster it ran on.
            groups: Work-groups it did.
            took_s: Core-seconds it took.
            group_s: Seconds one of them takes alone on all cores; None where that is not known.
        """
        found = self._ended.setdefault((tenant, slot), _Ended())
        found.core_s += took_s
        if group_s is not None:
            found.known_core_s += took_s
            found.alone_s += groups * group_s

    def done_s(self, tenant: str, slot: int, held_s: float) -> float:
        """Seconds that what a tenant did on a cluster takes alone; 0 where that is not known of most of it.

        Slices that run over the ends of an epoch count by their time in it, at the pace of those that ended.

        Args:
            tenant, slot: Whose work, and where.
            held_s: Core-seconds it had in the epoch, those of slices that run included.
        """
        found = self._ended.get((tenant, slot), _Ended())
        if found.known_core_s <= 0 or found.known_core_s < MOSTLY * found.core_s:
            return 0.0
        return found.alone_s / found.known_core_s * held_s
