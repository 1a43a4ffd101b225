# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy calibrate` found of a board's memory, kept as JSON and refused where it is of other hardware.

[001] trains c1 and c2 once an architecture (2.3.2). Here they are learned once a board profile, from kernels that run
alone on one of its clusters, and hold as long as the hardware is the same: the shell, the images of clusters, and what
the profile says of memory. The kernels' points are kept too, so that anybody can see what the line rests on.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from eddy.board.port.port import BoardDescription, BoardPort
from eddy.board.port.profile import load_profile, profile_names
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.core.slots import Image
from eddy.host.files import write_private
from eddy.hypervisor.cores.tenant_estimates import ClusterKind
from eddy.model.slowdown import ClusterParameters, MemoryLaw, fit_memory_law
from eddy.policy.price.view import ClusterMachine

FILE = "calibration.json"
"""Its name in a data folder."""
_AGAIN = "run `eddy calibrate` for this board again"
INSTRUCTIONS_PER_CYCLE = 1.0
"""Most that a core of ours can execute: it issues one instruction of a warp a cycle."""


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """A kernel that ran alone on every core.

    Attributes:
        row_hit_rate: Part of its requests that found their row open.
        utilisation: Part of the memory's bandwidth that it reached.
        demand: Bandwidth it would ask for on every core were it never held up, over the memory's; (2) of [001].
    """

    kernel: str
    row_hit_rate: float
    utilisation: float
    demand: float


@dataclass(frozen=True, slots=True)
class MemoryCalibration:
    """The law of a board's memory.

    Attributes:
        hardware: `hardware_of` the board it was measured on.
        law: c1, c2, and the bandwidth they are parts of.
        request_bytes: Bytes of a request to memory.
        points: What the law was fitted to.
    """

    profile: str
    hardware: str
    law: MemoryLaw
    request_bytes: int
    points: tuple[CalibrationPoint, ...]

    def machine(self, kind: ClusterKind) -> ClusterMachine:
        """What predictors are told of a kind of cluster."""
        return ClusterMachine(
            ClusterParameters(kind.cores, INSTRUCTIONS_PER_CYCLE, kind.clk_hz, self.request_bytes), self.law
        )

    def check(self, profile: str, hardware: str) -> None:
        """See whether it is of this board.

        Raises:
            Conflict: It is of another profile, or of hardware that has changed since.
        """
        if self.profile != profile:
            message = f"the calibration is of profile {self.profile}, and this board is {profile}; {_AGAIN}"
            raise Conflict(message, field="calibration", asked=self.profile, allowed=profile)
        if self.hardware != hardware:
            message = f"the hardware has changed since the calibration ({self.hardware} then, {hardware} now); {_AGAIN}"
            raise Conflict(message, field="calibration", asked=self.hardware, allowed=hardware)


def hardware_of(description: BoardDescription, images: Iterable[Image], clusters: Iterable[str], memory: str) -> str:
    """What a calibration holds for, 16 hex digits: the shell, clusters' images, and what the profile says of memory.

    Args:
        clusters: Modules that are clusters.
        memory: The profile's DRAM, as text; "" where no profile is known.
    """
    wanted = set(clusters)
    found = sorted(f"{image.slot} {image.sha256}" for image in images if image.module in wanted)
    return hashlib.sha256("\n".join([description.shell, memory, *found]).encode()).hexdigest()[:16]


def hardware_now(board: BoardPort, clusters: Iterable[str]) -> str:
    """`hardware_of` a board, with the memory of its profile where that is one that ships."""
    description = board.describe()
    memory = ""
    if description.profile in profile_names():
        memory = json.dumps(asdict(load_profile(description.profile).dram), sort_keys=True)
    return hardware_of(description, board.images(), clusters, memory)


def fit_law(
    profile: str, hardware: str, points: Sequence[CalibrationPoint], peak_bytes_per_s: float, request_bytes: int
) -> MemoryCalibration:
    """The law by least squares over kernels that memory bounds; [001] 2.3.2.

    Raises:
        InvalidRequest: Fewer than two kernels of different hit rate are bound by memory: this cluster cannot fill it.
    """
    try:
        law = _law(points, peak_bytes_per_s)
    except ValueError as none:
        message = f"the memory of this board cannot be calibrated by this cluster: {none}"
        raise InvalidRequest(message, field="profile", asked=profile) from none
    return MemoryCalibration(profile, hardware, law, request_bytes, tuple(points))


FILLED = 1.2
"""Demand over bandwidth from which on a kernel is held up by memory."""


def _bound(points: Sequence[CalibrationPoint]) -> list[CalibrationPoint]:
    """Those that memory holds up."""
    return [point for point in points if point.demand > point.utilisation * FILLED]


def _law(points: Sequence[CalibrationPoint], peak_bytes_per_s: float) -> MemoryLaw:
    """The line through kernels that memory holds up.

    Raises:
        ValueError: There are too few of them, or the line gives no bandwidth at some hit rate: what is slowed would
            then seem not to run at all.
    """
    bound = _bound(points)
    law = fit_memory_law([p.row_hit_rate for p in bound], [p.utilisation for p in bound], peak_bytes_per_s)
    if min(law.utilisation(0.0), law.utilisation(1.0)) <= 0:
        raise ValueError(f"the line {law.c1:.4f} x hit rate + {law.c2:.4f} gives no bandwidth at some hit rate")
    return law


def laws_by_pair(calibration: MemoryCalibration) -> tuple[MemoryLaw, ...]:
    """The laws that each pair of kernels that memory holds up would have given, their hit rates a quarter apart or more
    ([001] 6.5)."""
    pairs = combinations(_bound(calibration.points), 2)
    apart = [(a, b) for a, b in pairs if abs(a.row_hit_rate - b.row_hit_rate) >= 0.25]
    peak = calibration.law.peak_bytes_per_s
    return tuple(
        fit_memory_law([a.row_hit_rate, b.row_hit_rate], [a.utilisation, b.utilisation], peak) for a, b in apart
    )


def save(calibration: MemoryCalibration, path: Path) -> None:
    """Keep it.

    Raises:
        OSError: The disk refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, (json.dumps(asdict(calibration), indent=1, sort_keys=True) + "\n").encode())


def load(path: Path) -> MemoryCalibration:
    """Read one.

    Raises:
        NotFound: There is none.
        InvalidRequest: The file is not a calibration.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as none:
        message = f"there is no calibration {path}; run `eddy calibrate` for this board first"
        raise NotFound(message, field="calibration", asked=str(path)) from none
    except (OSError, ValueError) as wrong:
        raise InvalidRequest(f"{path} cannot be read as a calibration: {wrong}", field="calibration") from wrong
    try:
        return _calibration(body)
    except (KeyError, TypeError, ValueError) as wrong:
        raise InvalidRequest(f"{path} is not a calibration ({wrong}); {_AGAIN}", field="calibration") from wrong


def _calibration(body: Mapping[str, Any]) -> MemoryCalibration:
    law = MemoryLaw(**{name: float(value) for name, value in body["law"].items()})
    points = tuple(CalibrationPoint(**point) for point in body["points"])
    if not 0 < law.peak_bytes_per_s < math.inf or not body["request_bytes"] > 0:
        raise ValueError("bandwidth and bytes of a request must be positive")
    again = _law(points, law.peak_bytes_per_s)
    if not math.isclose(law.c1, again.c1, abs_tol=1e-6) or not math.isclose(law.c2, again.c2, abs_tol=1e-6):
        raise ValueError("c1 and c2 are not those of the line through its points")
    return MemoryCalibration(str(body["profile"]), str(body["hardware"]), law, int(body["request_bytes"]), points)
