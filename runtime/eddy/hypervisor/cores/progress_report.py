# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant's progress beside others, from the epochs that were counted: numbers, and words that name nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.hypervisor.cores.market_history import Epoch

_MUCH = 0.5
"""Part of a memory's traffic from which on somebody is said to have taken most of it."""


@dataclass(frozen=True, slots=True)
class TenantProgress:
    """One tenant in one epoch.

    Attributes:
        progress: Normalised progress, measured or predicted, the clusters by core-seconds it had there.
        measured: Whether it was measured on all of them.
        cores: It had on average, on all clusters.
        memory_share: Its part of what went to and from memory from its clusters; 0 where nothing did.
        others: Parts of the other tenants, the largest first, without their names.
    """

    progress: float
    measured: bool
    cores: float
    memory_share: float
    others: tuple[float, ...]


def progress_in(epoch: Epoch, tenant: str) -> TenantProgress | None:
    """What an epoch's counters say of a tenant; None where progress was not measured, or it ran nothing."""
    if epoch.progress is None or epoch.traffic_bytes is None or tenant not in epoch.view.tenants:
        return None
    row = epoch.view.tenants.index(tenant)
    known = ~np.isnan(epoch.progress[row])
    if not known.any() or epoch.ended_s is None or epoch.ended_s <= epoch.at_s:
        return None
    had_s = epoch.delivered_s[row]
    weights = had_s[known] if had_s[known].sum() > 0 else None
    moved = epoch.traffic_bytes[:, known].sum(axis=1)
    total = float(moved.sum())
    parts = moved / total if total > 0 else np.zeros(len(moved))
    others = tuple(sorted((float(p) for i, p in enumerate(parts) if i != row and p > 0), reverse=True))
    cores = float(had_s.sum()) / (epoch.ended_s - epoch.at_s)
    mean = float(np.average(epoch.progress[row][known], weights=weights))
    sure = epoch.progress_measured is not None and bool(epoch.progress_measured[row][known].all())
    return TenantProgress(mean, sure, cores, float(parts[row]), others)


def progress_of_job(
    epochs: Iterable[Epoch], tenant: str, began_s: float, ended_s: float | None, asked: float
) -> dict[str, Any] | None:
    """How far a job's tenant progressed while the job ran, as the job's answer shows it; None where nothing is known.

    Args:
        epochs: Oldest first.
        began_s: Board time of its first slice.
        ended_s: Of its end; None while it runs.
        asked: The least progress that held for it; 0 for none.
    """
    during = [e for e in epochs if (e.ended_s or e.at_s) > began_s and (ended_s is None or e.at_s < ended_s)]
    found = [(epoch, each) for epoch in during if (each := progress_in(epoch, tenant)) is not None]
    if not found:
        return None
    lengths = [_overlap_s(epoch, began_s, ended_s) for epoch, _ in found]
    total = sum(lengths) or 1.0
    mean = sum(each.progress * s for (_, each), s in zip(found, lengths, strict=True)) / total
    return {
        "asked": asked or None,
        "mean": mean,
        "met": mean >= asked if asked else None,
        "epochs": [
            {
                "epoch": epoch.number,
                "at_s": epoch.at_s,
                "ended_s": epoch.ended_s,
                "price_policy": epoch.policy,
                "progress": each.progress,
                "measured": each.measured,
                "cores": each.cores,
                "memory_share": each.memory_share,
            }
            for epoch, each in found
        ],
        "words": _sentences([each for _, each in found], lengths, mean, asked),
    }


def _overlap_s(epoch: Epoch, began_s: float, ended_s: float | None) -> float:
    last = epoch.ended_s or epoch.at_s
    return max(min(last, last if ended_s is None else ended_s) - max(epoch.at_s, began_s), 0.0)


def _sentences(found: list[TenantProgress], lengths: list[float], mean: float, asked: float) -> list[str]:
    total = sum(lengths) or 1.0
    own = sum(each.memory_share * s for each, s in zip(found, lengths, strict=True)) / total
    first = sum((each.others[0] if each.others else 0.0) * s for each, s in zip(found, lengths, strict=True)) / total
    cores = sum(each.cores * s for each, s in zip(found, lengths, strict=True)) / total
    lines = [
        f"It went at {100 * mean:.0f} % of the speed it would have had alone on all cores; it had {cores:.1f} of them."
    ]
    if asked:
        how = "was met" if mean >= asked else "was not met"
        lines.append(f"At least {100 * asked:.0f} % was asked for, which {how}.")
    if not any(each.others for each in found):
        lines.append("Nobody else used the memory meanwhile.")
    elif first >= _MUCH:
        lines.append(
            f"Another tenant took {100 * first:.0f} % of the memory's traffic, and this one {100 * own:.0f} %."
        )
    else:
        lines.append(f"It had {100 * own:.0f} % of the memory's traffic; no other tenant had more than half.")
    return lines
