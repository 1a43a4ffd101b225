# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The client for event loops: what a tenant does with jobs and blobs, awaited.

::

    async with AsyncClient("http://127.0.0.1:8000", key) as client:
        job = await client.submit("image_compression", {"image": photographs})
        job = await client.wait(job["id"])
        outputs = await client.outputs(job["id"])

Calls take and give what those of `Client` of the same names do; jobs are the objects the server shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx

from eddy.client import answers
from eddy.client.calls.client_calls import SUBMIT_TIMEOUT_S, ClientCalls, transport_settings
from eddy.client.calls.job import FINAL, MAX_WAIT_S, describe_end
from eddy.client.calls.job_calls import found_jobs
from eddy.client.transport.async_transport import AsyncTransport
from eddy.client.transport.call_modes import AwaitingCaller
from eddy.client.transport.errors import JobFailed
from eddy.client.transport.stream import Event, follow_awaiting

if TYPE_CHECKING:
    from eddy.client.calls.kernel import AsyncKernel


class AsyncClient(AwaitingCaller, ClientCalls):
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
        self.transport = AsyncTransport(**transport_settings(url, key, timeout_s, retries), http=http)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.close()

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
        from eddy.client.calls.kernel import AsyncKernel

        return AsyncKernel(self, source, name, defines, includes, options)

    async def wait(self, job: int) -> answers.Job:
        """Wait until a job has succeeded; answers the job object. Cancel the task, or use a timeout, to stop waiting.

        Raises:
            JobFailed: It ended otherwise; `details` has `state` and `cause`.
        """
        data = await self.show(job)
        while data["state"] not in FINAL:
            data = await self.show(job, wait_s=MAX_WAIT_S)
        if data["state"] != "succeeded":
            why, cause = describe_end(data)
            raise JobFailed(f"Job {job} ended as {data['state']}{why}", job=job, state=data["state"], cause=cause)
        return data

    async def jobs(self, *, limit: int | None = None, **filters: Any) -> list[answers.Job]:
        """Your jobs, newest first; every one that fits, or the first `limit`.

        Args:
            limit: At most so many.
            filters: As `GET /v1/jobs` takes them; `label` may be a list of `name=value`.
        """
        return await self.transport.run(found_jobs(self.transport, limit, filters))

    async def events(self, job: int | None = None, *, after: int = -1) -> AsyncIterator[Event]:
        """Events of a job until it has ended, or of all your jobs from now on, across broken connections."""
        path = "/v1/events" if job is None else f"/v1/jobs/{job}/events"
        async for event in follow_awaiting(self.transport, path, after):
            yield event
