# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make bench ARGS=load` counts work, not jobs: tasks of items done, of a fused task as many as it covers."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from eddy.core.fusion import select_form
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.packages.catalogue import load_catalogue
from eddy.store import Store
from eddy.store.db.rows import Commit
from hypervisor_kit import request

KIND, TOOLS = JobEventKind, Path(__file__).resolve().parents[3] / "tools"


def test_work_is_tasks_of_items_whatever_the_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from benches.load import DATABASE, NAME, WorkSample

    application = load_catalogue(TOOLS.parent / "bitstreams").application(NAME)
    store = Store(tmp_path / DATABASE)
    plain, fused = (store.submissions.add_job(request(store), 0.0)[0] for _ in range(2))
    worked = WorkSample(tmp_path, application)
    assert worked.more() == 0

    def done(job: JobRecord, task: int) -> None:
        events = [
            JobEvent(0, job.id, job.tenant, 1.0, what, slot=0, task=task, item=0, started_s=0.0)
            for what in (KIND.LAUNCH, KIND.ITEM_DONE)
        ]
        store.commit(Commit(jobs=((job, {}),), events=tuple(events)))

    chosen = application.fused[0]
    (place,) = [task.id for task in select_form(application, chosen.name).tasks if task.name == chosen.name]
    done(plain, 0)
    done(plain, 1)
    assert worked.more() == 2
    done(dataclasses.replace(fused, form=chosen.name), place)
    assert worked.more() == len(chosen.covers) > 1
    assert worked.more() == 0
    assert worked.done == 2 + len(chosen.covers)
    store.close()
