# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a GPU cluster is made of, as a kernel sees it."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.core.errors import InvalidRequest

MAX_CORES, MAX_WARPS, MAX_THREADS = 8, 16, 16


@dataclass(frozen=True, slots=True)
class ClusterShape:
    """The configuration of a cluster.

    Attributes:
        cores: Cores of the cluster that run the kernel, 1 to 8.
        warps: Warps a core, 1 to 16.
        threads: Lanes a warp, 1 to 16.
        fpu: Whether the cores execute RV32F; without it kernels are compiled with soft float.
        local_bytes: Local memory of one core.
    """

    cores: int = 4
    warps: int = 4
    threads: int = 4
    fpu: bool = True
    local_bytes: int = 16384

    def __post_init__(self) -> None:
        for name, most in (("cores", MAX_CORES), ("warps", MAX_WARPS), ("threads", MAX_THREADS)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                message = f"A cluster has 1 to {most} {name}, not {value}."
                raise InvalidRequest(message, field=name, allowed=f"1 to {most}")

    @property
    def lanes(self) -> int:
        """Lanes of one core: the largest work-group."""
        return self.warps * self.threads

    @property
    def harts(self) -> int:
        """Lanes of the whole cluster."""
        return self.cores * self.lanes

    @property
    def name(self) -> str:
        """As [000] writes it, with the warps: 4C4W8T."""
        return f"{self.cores}C{self.warps}W{self.threads}T"
