# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs and arrays of jobs on the server: look at them, end them, take what they left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.calls.lookup_calls import buffers_of
from eddy.client.calls.views import JobList
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.exchange import Exchange
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment
from eddy.core.errors import Conflict

if TYPE_CHECKING:
    from eddy.client.transport.arrays import Array


class JobCalls(Caller):
    """The part of a client that concerns jobs that were submitted."""

    @call
    def show_array(self, array: int) -> Operation[answers.Array]:
        """The array object.

        Raises:
            NotFound: You have none of that id.
        """
        return self.transport.read_answer(answers.Array, "GET", f"/v1/arrays/{array}")

    @call
    def cancel_array(self, array: int) -> Operation[answers.Array]:
        """Ask for the end of all jobs of an array that have not ended; answers the array object.

        Raises:
            Conflict: All have ended already.
        """
        return self.transport.read_answer(answers.Array, "DELETE", f"/v1/arrays/{array}")

    @call
    def show(self, job: int, *, wait_s: float = 0.0, while_state: str | None = None) -> Operation[answers.Job]:
        """The job object.

        Args:
            job: Its id.
            wait_s: Wall seconds to wait for its end, at most 60; they must be less than one request may take.
            while_state: Wait only as long as it is in this state.

        Raises:
            NotFound: You have none of that id.
        """
        params = {"wait": wait_s, **({"while": while_state} if while_state else {})} if wait_s else None
        return self.transport.read_answer(answers.Job, "GET", f"/v1/jobs/{job}", params=params)

    @call
    def explain(self, job: int) -> Operation[answers.Explained]:
        """Why a job waits, where its time went, why slots were taken from it, what would have made it faster.

        Raises:
            NotFound: You have none of that id.
        """
        return self.transport.read_answer(answers.Explained, "GET", f"/v1/jobs/{job}/explain")

    @call
    def profile(self, job: int) -> Operation[answers.KernelProfiles]:
        """Where the cycles of a kernel job went, next to what its cluster could do, and what would help.

        Raises:
            NotFound: You have none of that id.
            InvalidRequest: It is no kernel job.
        """
        return self.transport.read_answer(answers.KernelProfiles, "GET", f"/v1/jobs/{job}/profile")

    @call
    def cancel(self, job: int, *, wait_s: float = 0.0) -> Operation[answers.Job]:
        """Ask for a job's end; answers the job object, at once or, with `wait_s`, when it has ended.

        Raises:
            Conflict: It has ended already.
        """
        params = {"wait": wait_s} if wait_s else None
        return self.transport.read_answer(answers.Job, "DELETE", f"/v1/jobs/{job}", params=params)

    @call
    def hold(self, job: int) -> Operation[answers.Job]:
        """Keep what a job left from being removed to make room; it counts among the bytes you may keep.

        Raises:
            Conflict: It has not ended.
            QuotaExceeded: You may not keep so many bytes.
        """
        return self.transport.read_answer(answers.Job, "PUT", f"/v1/jobs/{job}/hold")

    @call
    def let_go(self, job: int) -> Operation[answers.Job]:
        """Have what a job left removed when room is needed.

        Raises:
            Conflict: The operator holds it.
        """
        return self.transport.read_answer(answers.Job, "DELETE", f"/v1/jobs/{job}/hold")

    @call
    def output_bytes(self, job: int, name: str) -> Operation[bytes]:
        """An output of all items, end to end.

        Raises:
            Conflict: The job has not succeeded.
            NotFound: It has no such output.
        """
        return output_bytes_of(self.transport, job, name)

    @call
    def outputs(self, job: int) -> Operation[dict[str, Array]]:
        """Every output of a job as an array of shape ``(batch, *shape)``; of a kernel job, as the arguments were.

        Raises:
            Conflict: The job has not succeeded.
        """
        from eddy.client.transport import arrays

        shown = yield from JobCalls.show.steps(self, job)
        if shown["state"] != "succeeded":
            raise Conflict(f"Job {job} is {shown['state']}; it has outputs once it has succeeded.", job=job, status=409)
        found: dict[str, Array] = OutputArrays()
        if kernel := shown.get("kernel"):
            for name, entry in kernel["outputs"].items():
                found[name] = arrays.read_written_array((yield from output_bytes_of(self.transport, job, name)), entry)
            return found
        for buffer in (yield from buffers_of(self.transport, shown["application"])):
            if buffer.role in ("output", "update"):
                data = yield from output_bytes_of(self.transport, job, buffer.name)
                found[buffer.name] = arrays.output(data, buffer, shown["batch"])
        return found

    @call
    def log(self, job: int) -> Operation[str]:
        """What a kernel job printed; "" until it has ended, and for application jobs.

        Raises:
            NotFound: You have no job of that id.
        """
        return (yield from self.transport.send_request("GET", f"/v1/jobs/{job}/log")).text


class OutputArrays(dict[str, "Array"]):
    """Arrays by output; a name that is none of them is answered with those that are."""

    def __missing__(self, name: str) -> Array:
        """Raises `KeyError` with the names there are."""
        raise KeyError(f"There is no output {name!r}; there are {', '.join(self) or 'none'}.")


def output_bytes_of(exchange: Exchange, job: int, name: str) -> Operation[bytes]:
    """An output of all items, end to end."""
    return (yield from exchange.send_request("GET", f"/v1/jobs/{job}/outputs/{quote_segment(name)}")).content


def found_jobs(exchange: Exchange, limit: int | None, filters: Mapping[str, Any]) -> Operation[JobList]:
    """Jobs page by page: every one that fits the filters of `GET /v1/jobs` that are not None, or the first `limit`."""
    found = JobList()
    cursor: str | None = None
    while True:
        # Longer pages are bounded a second.
        size = min(100, limit - len(found)) if limit else None
        wanted = {**filters, "limit": size, "cursor": cursor}
        given = {name: value for name, value in wanted.items() if value is not None}
        page = yield from exchange.read_answer(answers.JobPage, "GET", "/v1/jobs", params=given)
        found += page["jobs"]
        found.damaged += page.get("damaged", [])
        cursor = page["next"]
        if cursor is None or (limit and len(found) >= limit):
            return found
