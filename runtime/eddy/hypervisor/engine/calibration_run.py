# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Measures what a board's memory gives by row-buffer hit rate: kernels that run alone on every core of one cluster.

The kernels stream through one array with strides of 1 to 128 lines, so that from nearly all to none of their requests
find their row open. They ask for nothing else, and so for as much as the cores can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from eddy.board.port.port import BoardPort
from eddy.core.counters import ContextCounters
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobRequest
from eddy.core.tenants import TenantRecord
from eddy.gpu.launches.request import Buffer, KernelRequest
from eddy.hypervisor.cores.calibration import (
    INSTRUCTIONS_PER_CYCLE,
    CalibrationPoint,
    MemoryCalibration,
    fit_law,
    hardware_now,
)
from eddy.hypervisor.cores.market_loop import PriceLoop, PriceSettings
from eddy.hypervisor.cores.progress_watch import ProgressWatch
from eddy.hypervisor.cores.tenant_estimates import ClusterKind
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.core_partition import cluster_kinds
from eddy.hypervisor.intake.kernels import KernelLimits, KernelPlanner
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.price.entitlement import Entitlement
from eddy.policy.price.view import ClusterMachine
from eddy.store import Store

STRIDES = (1, 8, 32, 64, 96, 128)
"""Lines from one access to the next. With rows of 8 KiB and lines of 64 bytes, 127, 15, 3, 1, 1/3 and 0 of the accesses
after the first of a row find it open."""
LINE_BYTES = 64
ARRAY_BYTES = 1 << 20
STEPS = 16
"""Accesses of a work-item."""
ITEMS = 4
"""Work-items of a group."""
GROUPS_A_CORE = 16
RUNS = 3
TENANT = "calibrate"
SOURCE = """
kernel void stride(global const uint *a, global uint *out, uint stride, uint lines, uint shift) {
  uint sum = 0, at = get_group_id(0) * get_local_size(0) * STEPS + get_local_id(0);
  for (uint k = 0; k < STEPS; k++, at += get_local_size(0)) {
    uint line = at * stride;
    line = (line + (line >> shift)) & (lines - 1);
    sum += a[line * 16];
  }
  out[get_global_id(0)] = sum;
}
"""
"""Every line once: where a stride has gone through the whole array it goes on one line further."""


def calibrate(
    board: BoardPort,
    modules: Mapping[str, ModuleManifest],
    bytes_per_s: float,
    tell: Callable[[str], None] = lambda _: None,
    strides: Sequence[int] = STRIDES,
) -> MemoryCalibration:
    """Run the kernels on the cluster with most lanes, and fit the law.

    Args:
        board: Nobody else uses it; it stays open.
        modules: Manifests by name.
        bytes_per_s: Bandwidth of its memory's data bus.
        tell: Told what is found, kernel by kernel.
        strides: Of the kernels, in lines.

    Raises:
        InvalidRequest: The board has no cluster, or counts nothing, or its cluster cannot fill the memory.
    """
    description, images = board.describe(), board.images()
    kinds = cluster_kinds({name: m for name, m in modules.items() if any(i.module == name for i in images)})
    if not kinds:
        raise InvalidRequest("this board has no GPU cluster to calibrate its memory with", field="profile")
    _, kind = max(kinds.items(), key=lambda each: (each[1].cores * each[1].lanes, each[0]))
    points, sizes = [], []
    for stride, counted, seconds in _measured(board, modules, kinds, kind, bytes_per_s, strides):
        if not counted.requests:
            message = f"the {description.board} board counts no requests to memory, so there is nothing to calibrate"
            raise InvalidRequest(message, field="board", asked=description.board)
        point = _point(f"stride of {stride} lines", counted, seconds, kind, bytes_per_s)
        points.append(point)
        sizes.append(counted.bytes / counted.requests)
        tell(f"{point.kernel}: hit rate {point.row_hit_rate:.3f}, {100 * point.utilisation:.1f} % of the bandwidth")
    hardware = hardware_now(board, kinds)
    return fit_law(description.profile, hardware, points, bytes_per_s, round(float(np.mean(sizes))))


def _point(
    name: str, counted: ContextCounters, seconds: float, kind: ClusterKind, bytes_per_s: float
) -> CalibrationPoint:
    utilisation = min(counted.bytes / seconds / bytes_per_s, 1.0)
    most = INSTRUCTIONS_PER_CYCLE * kind.cores * seconds * kind.clk_hz / max(counted.instructions, 1)
    return CalibrationPoint(name, counted.row_hit_rate, utilisation, most * utilisation)


def _measured(
    board: BoardPort,
    modules: Mapping[str, ModuleManifest],
    kinds: Mapping[str, ClusterKind],
    kind: ClusterKind,
    bytes_per_s: float,
    strides: Sequence[int],
) -> Iterator[tuple[int, ContextCounters, float]]:
    """What each kernel counted, and board seconds it took; the runs before the last one size its slices."""
    law = MemoryLaw(0.0, 1.0, bytes_per_s)  # Nothing is predicted from it; it has counters read.
    parameters = ClusterParameters(kind.cores, INSTRUCTIONS_PER_CYCLE, kind.clk_hz, LINE_BYTES)
    watch = ProgressWatch(dict.fromkeys(kinds, ClusterMachine(parameters, law)))
    loop = PriceLoop(Entitlement(), kinds, settings=PriceSettings(quantum_s=1e-3), watch=watch)
    store = Store(":memory:")
    store.tenants.put(TenantRecord(TENANT, key_hash=TENANT))
    planner = KernelPlanner(modules, limits=KernelLimits(time_limit_s=1.0))
    # Its jobs are nobody's: clusters of a study are measured that no tenant is given.
    engine = Engine(board, FirstComeFirstServed(), store, {}, modules, None, planner, price=loop, allow_unchecked=True)
    engine.start()
    slots = [slot.index for slot in board.describe().slots]
    for stride in strides:
        for _ in range(RUNS):
            before = _total(board, slots)
            seconds = _run(engine, store, _request(store, stride, kind.cores * GROUPS_A_CORE))
        yield stride, _total(board, slots).subtract_counters(before), seconds


def _total(board: BoardPort, slots: Collection[int]) -> ContextCounters:
    found = ContextCounters()
    for slot in slots:
        found = found.add_counters(board.sharing(slot).of(TENANT))
    return found


def _run(engine: Engine, store: Store, request: JobRequest) -> float:
    """Run a kernel to its end; the board seconds from its first slice to the end of its last."""
    number = engine.intake.accept(request).id
    while not engine.is_idle:
        engine.step()
    record = store.jobs.get(TENANT, number)
    if record.state is not JobState.SUCCEEDED:
        raise InvalidRequest(f"a calibrating kernel ended as {record.state.value}: {record.detail}", field="profile")
    assert record.started_s is not None
    assert record.ended_s is not None
    return record.ended_s - record.started_s


def _request(store: Store, stride: int, groups: int) -> JobRequest:
    def put(array: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> Buffer:
        data = array.tobytes()
        sha256 = hashlib.sha256(data).hexdigest()
        store.blobs.put(TENANT, sha256, data)
        return Buffer(sha256, array.dtype.str, array.shape)

    lines = ARRAY_BYTES // LINE_BYTES
    arrays = put(np.zeros(ARRAY_BYTES // 4, "u4")), put(np.zeros(groups * ITEMS, "u4"))
    arguments = (*arrays, stride, lines, lines.bit_length() - 1)
    source = f"#define STEPS {STEPS}u\n{SOURCE}"
    body = KernelRequest(source, "stride", (groups * ITEMS,), arguments, local_size=(ITEMS,)).to_json()
    return JobRequest(TENANT, "", kind=KERNEL, body=body)
