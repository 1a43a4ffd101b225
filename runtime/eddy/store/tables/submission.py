# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A request that is ready to be kept."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.core.records import APPLICATION, JobRequest, KernelRecord


@dataclass(frozen=True, slots=True)
class Submission:
    """A request that is ready to be kept.

    Attributes:
        request: What is asked for.
        kind: Name of the job's kind.
        name: What its record has as its application; "" for the request's.
        items: How many items it has; 0 for the request's batch.
        kernel: For a kernel job, what it is.
        program: What was compiled for it, kept until it has ended; "" for nothing.
        computed: Whether the board computes what it asks for.
        blobs: Hashes of the tenant's blobs that it needs, looked for again as it is kept; of kinds that take time to
            make ready.
        slot_s: Slot-seconds it is expected to use, by its application's estimates; 0 where nothing is known.
    """

    request: JobRequest
    kind: str = APPLICATION
    name: str = ""
    items: int = 0
    kernel: KernelRecord | None = None
    program: str = ""
    computed: bool = True
    blobs: tuple[str, ...] = ()
    slot_s: float = 0.0
