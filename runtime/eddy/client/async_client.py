"""The client for event loops: what a tenant does with jobs and blobs, awaited.

::

    async with AsyncClient("http://127.0.0.1:8000", key) as client:
        job = await client.submit("image_compression", {"image": photographs})
        job = await client.wait(job["id"])
        outputs = await client.outputs(job["id"])

Calls take and give what those of `Client` of the same names do; jobs are the objects the server shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from eddy.client import answers
from eddy.client.asked import asked
from eddy.client.async_calls import AsyncAccountCalls, AsyncLookups, AsyncOperatorCalls
from eddy.client.async_transport import AsyncTransport
from eddy.client.client import SUBMIT_TIMEOUT_S
from eddy.client.errors import JobFailed
from eddy.client.job import MOST_WAIT_S, Job, said_of
from eddy.client.sendable import quoted, setting, submission_key
from eddy.client.stream import Event
from eddy.client.submitting import fields_of, payloads_of
from eddy.core.errors import Conflict, NotFound

if TYPE_CHECKING:
    from eddy.client.arrays import Array
    from eddy.client.async_kernel import AsyncKernel

FINAL = ("succeeded", "failed", "cancelled")


class AsyncClient(AsyncAccountCalls, AsyncLookups, AsyncOperatorCalls):
    """Talks to one hypervisor as one tenant, in one event loop; every call is safe to repeat.

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
        http: httpx.AsyncBaseTransport | None = None,
        submit_timeout_s: float = SUBMIT_TIMEOUT_S,
    ) -> None:
        self.submit_timeout_s = submit_timeout_s
        self.transport = AsyncTransport(
            str(setting("url")) if url is None else url,
            str(setting("key")) if key is None else key,
            timeout_s=float(setting("http_timeout_s")) if timeout_s is None else timeout_s,
            retries=int(setting("http_retries")) if retries is None else retries,
            http=http,
        )

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.close()

    async def submit(
        self,
        application: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        after: Iterable[int | Job] = (),
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        idempotency_key: str | None = None,
    ) -> answers.Job:
        """Submit a job; the server has it durably when this returns. Answers the job object.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            QuotaExceeded: Too many jobs or bytes.
        """
        (body,) = await self._submissions(application, [inputs or {}], batch, priority, deadline_s)
        body |= asked(labels, after, retries, end_late)
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return await self.transport.answer(answers.Job, "POST", "/v1/jobs", body=body, headers=headers)

    async def dry_run(
        self,
        application: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
    ) -> answers.DryRun:
        """What a submission would cost and when it would run; the arrays are uploaded, the job is not kept.

        Raises:
            InvalidRequest, QuotaExceeded: As `submit` does.
        """
        (body,) = await self._submissions(application, [inputs or {}], batch, priority, deadline_s)
        return await self.transport.answer(answers.DryRun, "POST", "/v1/jobs?dry_run=true", body=body)

    async def submit_array(
        self,
        application: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        batch: int | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        after: Iterable[int | Job] = (),
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        idempotency_key: str | None = None,
    ) -> answers.Array:
        """Submit a job for each entry of `inputs`, all or none, under one id; answers the array object.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field`, with its place in the array.
            QuotaExceeded: Too many jobs or bytes.
        """
        bodies = await self._submissions(application, inputs, batch, priority, deadline_s)
        each = [{name: body.pop(name) for name in ("inputs", "constants")} for body in bodies]
        job = {**bodies[0], **asked(labels, after, retries, end_late)} if bodies else {}
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return await self.transport.answer(
            answers.Array, "POST", "/v1/arrays", body={"job": job, "each": each}, headers=headers
        )

    async def _submissions(
        self,
        application: str,
        inputs: Sequence[Mapping[str, Any]],
        batch: int | None,
        priority: int,
        deadline_s: float | None,
    ) -> list[dict[str, Any]]:
        """The bodies of submissions whose blobs are there."""
        from eddy.client import arrays

        known = {buffer.name: buffer for buffer in await self.buffers(application)}
        payloads, size = payloads_of(known, inputs, batch)
        every = (part for payload in payloads for parts in payload.values() for part in parts)
        for data in {arrays.digest(part): part for part in every}.values():
            await self.put_blob(data)
        same = {"application": application, "batch": size, "priority": priority}
        deadline = {} if deadline_s is None else {"deadline_s": deadline_s}
        return [{**same, **fields_of(payload, known), **deadline} for payload in payloads]

    def kernel(
        self,
        source: str,
        name: str,
        defines: Mapping[str, object] | None = None,
        *,
        includes: Mapping[str, str] | None = None,
        options: str = "",
    ) -> AsyncKernel:
        """A kernel of an OpenCL C source, to be launched with numpy arrays; see `Client.kernel`."""
        from eddy.client.async_kernel import AsyncKernel

        return AsyncKernel(self, source, name, defines, includes, options)

    async def show_array(self, array: int) -> answers.Array:
        """The array object.

        Raises:
            NotFound: You have none of that id.
        """
        return await self.transport.answer(answers.Array, "GET", f"/v1/arrays/{array}")

    async def cancel_array(self, array: int) -> answers.Array:
        """Ask for the end of all jobs of an array that have not ended; answers the array object.

        Raises:
            Conflict: All have ended already.
        """
        return await self.transport.answer(answers.Array, "DELETE", f"/v1/arrays/{array}")

    async def explain(self, job: int) -> answers.Explained:
        """Why a job waits, where its time went, why slots were taken from it, what would have made it faster.

        Raises:
            NotFound: You have none of that id.
        """
        return await self.transport.answer(answers.Explained, "GET", f"/v1/jobs/{job}/explain")

    async def show(self, job: int, *, wait_s: float = 0.0, while_state: str | None = None) -> answers.Job:
        """The job object; with `wait_s` (at most 60) when it has ended, or is not in that state any more."""
        params = {"wait": wait_s, **({"while": while_state} if while_state else {})} if wait_s else None
        return await self.transport.answer(answers.Job, "GET", f"/v1/jobs/{job}", params=params)

    async def wait(self, job: int) -> answers.Job:
        """Wait until a job has succeeded; answers the job object. Cancel the task, or use a timeout, to stop waiting.

        Raises:
            JobFailed: It ended otherwise; `details` has `state` and `cause`.
        """
        data = await self.show(job)
        while data["state"] not in FINAL:
            data = await self.show(job, wait_s=MOST_WAIT_S)
        if data["state"] != "succeeded":
            why, cause = said_of(data)
            raise JobFailed(f"Job {job} ended as {data['state']}{why}", job=job, state=data["state"], cause=cause)
        return data

    async def cancel(self, job: int, *, wait_s: float = 0.0) -> answers.Job:
        """Ask for a job's end; answers the job object, at once or, with `wait_s`, when it has ended.

        Raises:
            Conflict: It has ended already.
        """
        return await self.transport.answer(
            answers.Job, "DELETE", f"/v1/jobs/{job}", params={"wait": wait_s} if wait_s else None
        )

    async def hold(self, job: int) -> answers.Job:
        """Keep what a job left from being removed to make room; it counts among the bytes you may keep."""
        return await self.transport.answer(answers.Job, "PUT", f"/v1/jobs/{job}/hold")

    async def let_go(self, job: int) -> answers.Job:
        """Have what a job left removed when room is needed."""
        return await self.transport.answer(answers.Job, "DELETE", f"/v1/jobs/{job}/hold")

    async def jobs(self, *, limit: int | None = None, **filters: Any) -> list[answers.Job]:
        """Your jobs, newest first; every one that fits, or the first `limit`.

        Args:
            limit: At most so many.
            filters: As `GET /v1/jobs` takes them; `label` may be a list of `name=value`.
        """
        found: list[answers.Job] = []
        cursor: str | None = None
        while True:
            size = min(500, limit - len(found)) if limit else None
            wanted = {**filters, "limit": size, "cursor": cursor}
            given = {name: value for name, value in wanted.items() if value is not None}
            page = await self.transport.answer(answers.JobPage, "GET", "/v1/jobs", params=given)
            found += page["jobs"]
            cursor = page["next"]
            if cursor is None or (limit and len(found) >= limit):
                return found

    async def events(self, job: int | None = None, *, after: int = -1) -> AsyncIterator[Event]:
        """Events of a job until it has ended, or of all your jobs from now on, across broken connections."""
        path = "/v1/events" if job is None else f"/v1/jobs/{job}/events"
        async for event in self.transport.follow(path, after):
            yield event

    async def outputs(self, job: int) -> dict[str, Array]:
        """Every output of an application job as an array of shape ``(batch, *shape)``; of a kernel, as its arguments.

        Raises:
            Conflict: The job has not succeeded.
        """
        from eddy.client import arrays

        shown = await self.show(job)
        if shown["state"] != "succeeded":
            raise Conflict(f"Job {job} is {shown['state']}; it has outputs once it has succeeded.", job=job, status=409)
        if kernel := shown.get("kernel"):
            written = kernel["outputs"].items()
            return {name: arrays.written(await self.output_bytes(job, name), entry) for name, entry in written}
        wanted = [buffer for buffer in await self.buffers(shown["application"]) if buffer.role == "output"]
        return {b.name: arrays.output(await self.output_bytes(job, b.name), b, shown["batch"]) for b in wanted}

    async def output_bytes(self, job: int, name: str) -> bytes:
        """An output of all items, end to end."""
        return (await self.transport.request("GET", f"/v1/jobs/{job}/outputs/{quoted(name)}")).content

    async def put_blob(self, data: bytes) -> str:
        """Store bytes, unless they are there already; answers their name."""
        from eddy.client import arrays

        name = arrays.digest(data)
        try:
            await self.transport.request("HEAD", f"/v1/blobs/{name}")
        except NotFound:
            await self.transport.request("PUT", f"/v1/blobs/{name}", content=data)
        return name

    async def blob(self, sha256: str) -> bytes:
        """The bytes of a blob."""
        return (await self.transport.request("GET", f"/v1/blobs/{quoted(sha256)}")).content

    async def blobs(self) -> list[answers.Blob]:
        """Every blob you keep: `sha256` and `bytes`, in order of the hashes."""
        found: list[answers.Blob] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await self.transport.answer(answers.BlobPage, "GET", "/v1/blobs", params={"cursor": cursor})
            found += page["blobs"]
            cursor = page["next"]
        return found

    async def delete_blob(self, sha256: str) -> None:
        """Forget a blob.

        Raises:
            Conflict: A job that has not ended needs it.
        """
        await self.transport.request("DELETE", f"/v1/blobs/{quoted(sha256)}")

    async def log(self, job: int) -> str:
        """What a kernel job printed; "" until it has ended, and for application jobs.

        Raises:
            NotFound: You have no job of that id.
        """
        return (await self.transport.request("GET", f"/v1/jobs/{job}/log")).text
