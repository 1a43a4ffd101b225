# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of jobs."""

from __future__ import annotations

import pytest
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobRecord
from eddy.store.job_tables.jobs import state_before


@pytest.mark.parametrize("state", JobState)
def test_a_record_fails_where_the_table_lets_the_job_fail(state: JobState) -> None:
    record = JobRecord(1, "a", "x", 1, 1, state, 5.0, 0.0)
    if JobState.FAILED not in TRANSITIONS[state]:
        with pytest.raises(ValueError, match=f"{state.value} cannot fail"):
            record.failed(2.0, "cause", "why")
        return
    failed = record.failed(2.0, "cause", "why")
    assert (failed.state, failed.ended_s, failed.cause, failed.detail) == (JobState.FAILED, 2.0, "cause", "why")
    assert record.state is state


@pytest.mark.parametrize(
    ("written", "state"),
    [(b"running", JobState.RUNNING), (b"succeeded", JobState.QUEUED), (b"\xff", JobState.QUEUED)],
)
def test_a_job_whose_row_is_damaged_had_not_ended(written: bytes, state: JobState) -> None:
    assert state_before(written) is state
