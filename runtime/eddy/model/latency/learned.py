"""How long an item really takes, learned from items that ended.

What design tools estimate is too short by a factor that differs from module to module (1.3 to 9.8 on [004]'s board),
though within an application the factors are alike. So a module that was seen takes the mean of what was seen; one that
was not takes its estimate times the factor of its application, or its estimate where nothing of that was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MOVED = 0.03
"""A mean that moved less than this share is not worth working everything out again."""
MEMORY = 32
"""How many items the mean remembers: an older one counts for less, so that a mean follows a change."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """What was learned; a value, extended by `observe`.

    Attributes:
        mean_s: Module to the mean duration of its items, in seconds.
        counts: Module to how many items the mean stands for, at most `MEMORY`.
        used_s: The means as of the last time one of them moved noticeably; what predictions use.
        version: Grows whenever `used_s` changes.
    """

    mean_s: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    used_s: Mapping[str, float] = field(default_factory=dict)
    version: int = 0

    def observe(self, items: Iterable[tuple[str, float]]) -> Latencies:
        """With some more items.

        Args:
            items: Module and duration in seconds of each, in order.
        """
        mean, counts, used, version = dict(self.mean_s), dict(self.counts), self.used_s, self.version
        for module, duration_s in items:
            count = min(counts.get(module, 0) + 1, MEMORY)
            counts[module] = count
            old_s = mean.get(module, duration_s)
            mean[module] = old_s + (duration_s - old_s) / count
            known_s = used.get(module)
            if known_s is None or abs(mean[module] - known_s) > MOVED * known_s:
                used = {**used, module: mean[module]}
                version += 1
        return Latencies(mean, counts, used, version)

    def predict(self, tasks: Sequence[tuple[str, float]]) -> tuple[float, ...]:
        """Seconds an item of each task of an application takes.

        Args:
            tasks: Module and estimate in seconds of each.
        """
        known = self.used_s
        seen = [(known[module], estimate_s) for module, estimate_s in tasks if module in known]
        estimated_s = sum(estimate_s for _, estimate_s in seen)
        factor = sum(real_s for real_s, _ in seen) / estimated_s if estimated_s > 0 else 1.0
        return tuple([known[module] if module in known else factor * estimate_s for module, estimate_s in tasks])
