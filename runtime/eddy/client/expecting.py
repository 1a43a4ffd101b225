"""What would become of a submission, and why a job takes what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.client import answers
from eddy.client.submitting import Submitting


class Expecting(Submitting):
    """The part of a client that asks what is to be expected."""

    def dry_run(
        self,
        application: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
    ) -> answers.DryRun:
        """What a submission would cost and when it would run; the arrays are uploaded, the job is not kept.

        Returns:
            `slot_seconds`, `core_seconds`, `loads` and `estimate`; see `POST /v1/jobs?dry_run=true`.

        Raises:
            InvalidRequest, QuotaExceeded: As `submit` does.
        """
        (fields,), size = self._put_inputs(application, [inputs or {}], batch, lambda sent, total: None)
        body = {"application": application, "batch": size, "priority": priority, **fields}
        if deadline_s is not None:
            body["deadline_s"] = deadline_s
        return self.transport.answer(answers.DryRun, "POST", "/v1/jobs?dry_run=true", body=body)

    def explain(self, job: int) -> answers.Explained:
        """Why a job waits, where its time went, why slots were taken from it, what would have made it faster.

        Raises:
            NotFound: You have none of that id.
        """
        return self.transport.answer(answers.Explained, "GET", f"/v1/jobs/{job}/explain")
