# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Page view count, after the program of that name in Mars: how often each URL occurs in a web log."""

from __future__ import annotations

import numpy as np
from eddy.gpu.workloads.base import Step, Workload

from eddy_studies.hsm.workloads.common import source

RECORD, URL = 16, 12
"""Words of a record, and of its URL."""


def page_views(records: int, *, urls: int = 2500, slot_bits: int = 14, seed: int = 1) -> Workload:
    """Map, group in a hash table by atomic accesses, and reduce.

    Args:
        records: Lines of the log.
        urls: Different ones, fewer than the table's slots.
        slot_bits: The table has two to this power of slots.
    """
    rng = np.random.default_rng(seed)
    known = rng.integers(1, 1 << 32, (urls, URL), dtype=np.uint32)
    which = rng.integers(0, urls, records)
    log = rng.integers(0, 1 << 32, (records, RECORD), dtype=np.uint32)
    log[:, :URL] = known[which]
    zeros = np.zeros(1 << slot_bits, np.uint32)
    views = np.bincount(which, minlength=urls)[which].astype(np.uint32)
    steps = (
        Step("pvc_map", (records,), ("records", "hashes")),
        Step("pvc_count", (records,), ("hashes", "keys", "counts")),
        Step("pvc_emit", (records,), ("hashes", "keys", "counts", "views")),
    )
    buffers = {"records": log, "hashes": np.zeros(records, np.uint32), "keys": zeros, "counts": zeros.copy()}
    buffers["views"] = np.zeros(records, np.uint32)
    defines = {"RECORD": RECORD, "URL": URL, "SLOT_BITS": slot_bits, "SLOTS": 1 << slot_bits}
    text = f"{records} records of {4 * RECORD} bytes, {urls} URLs, a table of {1 << slot_bits} slots"
    return Workload("PVC", source("page_views.cl"), "memory", steps, buffers, {"views": views}, defines, 0.0, text)
