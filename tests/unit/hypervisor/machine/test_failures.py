# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the record of a job says of an error."""

from __future__ import annotations

import pytest
from eddy.core.errors import Conflict, StorageDamaged
from eddy.hypervisor.machine.failures import explain


@pytest.mark.parametrize(
    ("error", "cause", "words"),
    [
        (KeyError(4711), "internal-error", "KeyError; the server's log has the cause"),
        (IndexError("job 4711"), "internal-error", "IndexError; the server's log has the cause"),
        (RuntimeError("the driver tripped"), "internal-error", "RuntimeError: the driver tripped"),
        (OSError(5, "Input/output error", "/srv/eddy/4711.out"), "internal-error", "OSError: Input/output error"),
        (Conflict("slot 1 runs an item"), "conflict", "slot 1 runs an item"),
        (
            StorageDamaged("/srv/eddy/4711.out"),
            "storage-damaged",
            "the server cannot read or keep its data; its log has the cause",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_tenant_reads_no_number_and_no_path_of_ours(error: Exception, cause: str, words: str) -> None:
    assert explain(error, "launching 4711.0.1") == (cause, words)
