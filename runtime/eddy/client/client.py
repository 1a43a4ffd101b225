# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The client: one object for one tenant on one server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import httpx

from eddy.client.answers import Session as Opened
from eddy.client.calls.client_calls import SUBMIT_TIMEOUT_S, ClientCalls, transport_settings
from eddy.client.calls.job import Job
from eddy.client.calls.job_array import JobArray
from eddy.client.calls.job_calls import found_jobs
from eddy.client.calls.views import JobList
from eddy.client.transport.call_modes import BlockingCaller
from eddy.client.transport.request_values import quote_segment
from eddy.client.transport.transport import Transport

if TYPE_CHECKING:
    from eddy.client.calls.kernel import Kernel
    from eddy.client.calls.sessions import Session
    from eddy.client.transport.stream import Event


class Client(BlockingCaller, ClientCalls):
    """Talks to one hypervisor as one tenant; every call is safe to repeat, and is repeated where nothing answered.

    ::

        with Client("http://127.0.0.1:8000", key) as client:
            job = client.submit("image_compression", {"image": photographs}).wait()
            result = job.outputs["result"]

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
        self.transport = Transport(**transport_settings(url, key, timeout_s, retries), http=http)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

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
        from eddy.client.calls.kernel import Kernel

        return Kernel(self, source, name, defines, includes, options)

    def open_session(
        self,
        *,
        memory_bytes: int | None = None,
        idle_timeout_s: float | None = None,
        on_pressure: str | None = None,
        out_of_order: bool | None = None,
        priority: int | None = None,
        lease_s: float | None = None,
    ) -> Session:
        """Memory on the board that stays, and a stream of commands on it; a context manager, which closes it.

        Args:
            memory_bytes: Board memory it has: for its buffers, its programs and their stacks.
            idle_timeout_s: Wall seconds without a command after which the server closes it.
            on_pressure: While nobody uses it and others wait for memory: `spill` it to the disk, or keep it (`refuse`).
            out_of_order: Whether `after` and barriers alone order commands; else each follows the last.
            priority: Of your own work, higher comes first.
            lease_s: Wall seconds without a request of commands, or `Session.renew`, after which the server closes it,
                whatever is under way.

        Raises:
            QuotaExceeded: You have as many sessions as you may.
        """
        from eddy.client.calls.sessions import Session

        given = {
            **{"memory_bytes": memory_bytes, "idle_timeout_s": idle_timeout_s, "on_pressure": on_pressure},
            **{"out_of_order": out_of_order, "priority": priority, "lease_s": lease_s},
        }
        asked = {name: value for name, value in given.items() if value is not None}
        return Session(self, self.transport.run(self.transport.read_answer(Opened, "POST", "/v1/sessions", body=asked)))

    def session(self, token: str) -> Session:
        """A handle on an open session, by its `token`: of this program, or of one that has ended.

        Raises:
            NotFound: You have none of that token, or it has ended.
        """
        from eddy.client.calls.sessions import Session

        path = f"/v1/sessions/{quote_segment(token)}"
        return Session(self, self.transport.run(self.transport.read_answer(Opened, "GET", path)))

    def array(self, array: int) -> JobArray:
        """A handle on an array of jobs.

        Raises:
            NotFound: You have none of that id.
        """
        return JobArray(self, self.show_array(array))

    def job(self, job: int) -> Job:
        """A handle on a job.

        Raises:
            NotFound: You have none of that id.
        """
        return Job(self, self.show(job))

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
        return self.transport.run(found_jobs(self.transport, limit, filters))

    def events(self, *, last: int = 0, follow: bool = True) -> Iterator[Event]:
        """Events of all your jobs, oldest first, across broken connections.

        Args:
            last: Past events to begin with.
            follow: Go on as they happen; else end with the newest.
        """
        from eddy.client.transport.stream import follow as follow_stream

        return follow_stream(self.transport, f"/v1/events?last={last}&follow={str(follow).lower()}")
