"""The client: one object for one tenant on one server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import httpx

from eddy.client import answers
from eddy.client.account_calls import AccountCalls
from eddy.client.expecting import Expecting
from eddy.client.job import Job
from eddy.client.job_array import JobArray
from eddy.client.operator_calls import OperatorCalls
from eddy.client.parts import PART_BYTES, put_in_parts
from eddy.client.sendable import quoted, setting
from eddy.client.transport import Transport
from eddy.client.views import JobList, MarketView, Timeline
from eddy.core.errors import Conflict, EddyError, NotFound

if TYPE_CHECKING:
    from eddy.client.arrays import Array, BufferInfo
    from eddy.client.kernel import Kernel
    from eddy.client.stream import Event

SUBMIT_TIMEOUT_S = 600.0
"""A compilation takes up to a minute, and the compilations before it come first."""


class Client(AccountCalls, Expecting, OperatorCalls):
    """Talks to one hypervisor as one tenant; every call is safe to repeat, and is repeated where nothing answered.

    ::

        with Client("http://127.0.0.1:8000", key) as client:
            job = client.submit("image_compression", {"image": photographs}).wait()
            result = job.outputs["restored"]

    Args:
        url: Where it answers; None for `EDDY_URL` or the default.
        key: The tenant's API key; None for `EDDY_KEY`.
        timeout_s: Wall time one try of one request may take; None for `EDDY_HTTP_TIMEOUT_S` or the default.
        retries: Tries beyond the first; None for `EDDY_HTTP_RETRIES` or the default.
        http: An httpx transport to use instead of sockets.
        submit_timeout_s: Wall time the answer to a kernel's submission may take: it is compiled first.

    Raises:
        InvalidRequest: URL, key or an environment variable is not one.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout_s: float | None = None,
        retries: int | None = None,
        http: httpx.BaseTransport | None = None,
        submit_timeout_s: float = SUBMIT_TIMEOUT_S,
    ) -> None:
        self.submit_timeout_s = submit_timeout_s
        self.transport = Transport(
            str(setting("url")) if url is None else url,
            str(setting("key")) if key is None else key,
            timeout_s=float(setting("http_timeout_s")) if timeout_s is None else timeout_s,
            retries=int(setting("http_retries")) if retries is None else retries,
            http=http,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    # Jobs

    def kernel(
        self,
        source: str,
        name: str,
        defines: Mapping[str, object] | None = None,
        *,
        includes: Mapping[str, str] | None = None,
        options: str = "",
    ) -> Kernel:
        """A kernel of an OpenCL C source, to be launched with numpy arrays.

        Args:
            source: OpenCL C 1.2, as docs/reference/opencl.md has it.
            name: Name of the kernel.
            defines: Macros.
            includes: Headers by the names the source includes them by.
            options: Build options as `clBuildProgram` takes them: `-D`, `-I`, `-w`, `-Werror`, `-cl-...`.
        """
        from eddy.client.kernel import Kernel

        return Kernel(self, source, name, defines, includes, options)

    def array(self, array: int) -> JobArray:
        """A handle on an array of jobs.

        Raises:
            NotFound: You have none of that id.
        """
        return JobArray(self, self.show_array(array))

    def show_array(self, array: int) -> answers.Array:
        """The array object."""
        return self.transport.answer(answers.Array, "GET", f"/v1/arrays/{array}")

    def cancel_array(self, array: int) -> answers.Array:
        """Ask for the end of all jobs of an array that have not ended; answers the array object.

        Raises:
            Conflict: All have ended already.
        """
        return self.transport.answer(answers.Array, "DELETE", f"/v1/arrays/{array}")

    def job(self, job: int) -> Job:
        """A handle on a job.

        Raises:
            NotFound: You have none of that id.
        """
        return Job(self, self.show(job))

    def show(self, job: int, *, wait_s: float = 0.0, while_state: str | None = None) -> answers.Job:
        """The job object.

        Args:
            job: Its id.
            wait_s: Wall seconds to wait for its end, at most 60; they must be less than one request may take.
            while_state: Wait only as long as it is in this state.
        """
        params = {"wait": wait_s, **({"while": while_state} if while_state else {})} if wait_s else None
        return self.transport.answer(answers.Job, "GET", f"/v1/jobs/{job}", params=params)

    def cancel(self, job: int, *, wait_s: float = 0.0) -> answers.Job:
        """Ask for a job's end; answers the job object, at once or, with `wait_s`, when it has ended.

        Raises:
            Conflict: It has ended already.
        """
        return self.transport.answer(
            answers.Job, "DELETE", f"/v1/jobs/{job}", params={"wait": wait_s} if wait_s else None
        )

    def hold(self, job: int) -> answers.Job:
        """Keep what a job left from being removed to make room; it counts among the bytes you may keep.

        Raises:
            Conflict: It has not ended.
            QuotaExceeded: You may not keep so many bytes.
        """
        return self.transport.answer(answers.Job, "PUT", f"/v1/jobs/{job}/hold")

    def let_go(self, job: int) -> answers.Job:
        """Have what a job left removed when room is needed.

        Raises:
            Conflict: The operator holds it.
        """
        return self.transport.answer(answers.Job, "DELETE", f"/v1/jobs/{job}/hold")

    def jobs(
        self,
        *,
        state: str | None = None,
        limit: int | None = None,
        tenant: str | None = None,
        application: str | None = None,
        kernel: str | None = None,
        labels: Mapping[str, str] | None = None,
        array: int | None = None,
        submitted_from: float | None = None,
        submitted_before: float | None = None,
        sort: str | None = None,
    ) -> JobList:
        """Your jobs, newest first; every one that fits, or the first `limit`. A notebook draws them.

        Args:
            state: Only jobs in this state.
            limit: At most so many.
            tenant: Only this tenant's (operators).
            application: Only jobs of this application.
            kernel: Only jobs of kernels of this name.
            labels: Only jobs with all of these.
            array: Only jobs of this array.
            submitted_from: Submitted then or later, in seconds since 1970.
            submitted_before: Submitted before.
            sort: `newest`, `oldest`, or `ended`: the latest end first.
        """
        filters = {
            **{"state": state, "tenant": tenant, "application": application, "kernel": kernel},
            "array": array,
            **{"submitted_from": submitted_from, "submitted_before": submitted_before, "sort": sort},
            "label": [f"{name}={value}" for name, value in (labels or {}).items()] or None,
        }
        found = JobList()
        cursor: str | None = None
        while True:
            size = min(500, limit - len(found)) if limit else None
            wanted = {**filters, "limit": size, "cursor": cursor}
            given = {key: value for key, value in wanted.items() if value is not None}
            page = self.transport.answer(answers.JobPage, "GET", "/v1/jobs", params=given)
            found += page["jobs"]
            cursor = page["next"]
            if cursor is None or (limit and len(found) >= limit):
                return found

    def output_bytes(self, job: int, name: str) -> bytes:
        """An output of all items, end to end.

        Raises:
            Conflict: The job has not succeeded.
            NotFound: It has no such output.
        """
        return self.transport.request("GET", f"/v1/jobs/{job}/outputs/{quoted(name)}").content

    def outputs(self, job: int) -> dict[str, Array]:
        """Every output of a job as an array of shape ``(batch, *shape)``; of a kernel job, as the arguments were.

        Raises:
            Conflict: The job has not succeeded.
        """
        from eddy.client import arrays

        shown = self.show(job)
        if shown["state"] != "succeeded":
            raise Conflict(f"Job {job} is {shown['state']}; it has outputs once it has succeeded.", job=job, status=409)
        if kernel := shown.get("kernel"):
            written = kernel["outputs"].items()
            return {name: arrays.written(self.output_bytes(job, name), entry) for name, entry in written}
        wanted = [buffer for buffer in self.buffers(shown["application"]) if buffer.role == "output"]
        return {b.name: arrays.output(self.output_bytes(job, b.name), b, shown["batch"]) for b in wanted}

    def log(self, job: int) -> str:
        """What a kernel job printed; "" until it has ended, and for application jobs.

        Raises:
            NotFound: You have no job of that id.
        """
        return self.transport.request("GET", f"/v1/jobs/{job}/log").text

    # Blobs

    def put_blob(self, data: bytes) -> str:
        """Store bytes, unless they are there already; answers their name."""
        from eddy.client import arrays

        name = arrays.digest(data)
        try:
            self.transport.request("HEAD", f"/v1/blobs/{name}")
        except NotFound:
            if len(data) > PART_BYTES:
                put_in_parts(self.transport, name, data)
            else:
                self.transport.request("PUT", f"/v1/blobs/{name}", content=data)
        return name

    def blobs(self) -> list[answers.Blob]:
        """Every blob you keep: `sha256` and `bytes`, in order of the hashes."""
        found: list[answers.Blob] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.transport.answer(answers.BlobPage, "GET", "/v1/blobs", params={"cursor": cursor})
            found += page["blobs"]
            cursor = page["next"]
        return found

    def blob(self, sha256: str) -> bytes:
        """The bytes of a blob.

        Raises:
            NotFound: You keep none of that hash.
        """
        return self.transport.request("GET", f"/v1/blobs/{quoted(sha256)}").content

    def delete_blob(self, sha256: str) -> None:
        """Forget a blob.

        Raises:
            Conflict: A job that has not ended needs it.
        """
        self.transport.request("DELETE", f"/v1/blobs/{quoted(sha256)}")

    def events(self, *, last: int = 0, follow: bool = True) -> Iterator[Event]:
        """Events of all your jobs, oldest first, across broken connections.

        Args:
            last: Begin with so many past ones.
            follow: Go on as they happen; else end with the newest.
        """
        from eddy.client.stream import follow as follow_stream

        return follow_stream(self.transport, f"/v1/events?last={last}&follow={str(follow).lower()}")

    # Look up

    def apps(self) -> list[answers.App]:
        """Every application."""
        return list(self.transport.answer(answers.AppList, "GET", "/v1/apps")["apps"])

    def app(self, name: str) -> answers.App:
        """One application.

        Raises:
            NotFound: There is none of that name.
        """
        return self.transport.answer(answers.App, "GET", f"/v1/apps/{quoted(name)}")

    def buffers(self, application: str) -> list[BufferInfo]:
        """The buffers of an application."""
        from eddy.client.arrays import BufferInfo

        return [BufferInfo.parse(buffer) for buffer in self.app(application)["buffers"]]

    def slots(self) -> answers.SlotList:
        """What every slot does now: `now_s` and `slots`."""
        return self.transport.answer(answers.SlotList, "GET", "/v1/slots")

    def overview(self) -> answers.Overview:
        """The board at a glance: slots, jobs under way and ended last, what slots did of late."""
        return self.transport.answer(answers.Overview, "GET", "/v1/overview")

    def timeline(self) -> Timeline:
        """What slots did of late; a notebook draws it."""
        return Timeline.of(self.overview())

    def market(self) -> MarketView:
        """Prices of the clusters, and one's own shares of them; a notebook draws them."""
        return MarketView(self.transport.answer(answers.MarketAnswer, "GET", "/v1/market"))

    def market_history(self, after: int = -1) -> list[answers.MarketEpoch]:
        """Epochs that ended, with a number above `after`, in which one had work; oldest first."""
        return list(self.transport.answer(answers.MarketHistory, "GET", f"/v1/market/history?after={after}")["epochs"])

    def market_explained(self) -> answers.MarketExplanation:
        """Why one has the shares one has: `words`, what a PE more is worth by cluster, and a doubled weight."""
        return self.transport.answer(answers.MarketExplanation, "GET", "/v1/market/explain")

    def ready(self) -> bool:
        """Whether the server takes jobs at this moment."""
        try:
            return bool(self.transport.answer(answers.Health, "GET", "/readyz", retries=0).get("status") == "ok")
        except EddyError:
            return False
