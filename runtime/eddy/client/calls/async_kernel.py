# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel for event loops: launched with numpy arrays, which are brought up to date where its job is awaited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from eddy.client import answers
from eddy.client.calls.kernel import LaunchCalls, array_of
from eddy.client.transport.async_transport import AsyncTransport
from eddy.client.transport.call_modes import AwaitingCaller


class AsyncLauncher(Protocol):
    """What a kernel asks of its client."""

    transport: AsyncTransport
    submit_timeout_s: float

    async def wait(self, job: int) -> answers.Job:
        """Wait until a job has succeeded."""

    async def output_bytes(self, job: int, name: str) -> bytes:
        """An output of all items, end to end."""


class AsyncKernel(AwaitingCaller, LaunchCalls):
    """A kernel of an OpenCL C source; as `eddy.client.calls.kernel.Kernel`.

    Args:
        client: Whoever launches it.
        source: OpenCL C 1.2.
        name: Name of the kernel.
        defines: Macros.
        includes: Headers by the names the source includes them by.
        options: Build options.
    """

    def __init__(
        self,
        client: AsyncLauncher,
        source: str,
        name: str,
        defines: Mapping[str, object] | None,
        includes: Mapping[str, str] | None,
        options: str,
    ) -> None:
        super().__init__(source, name, defines, includes, options)
        self.transport, self.submit_timeout_s = client.transport, client.submit_timeout_s
        self._client = client

    async def finish(self, job: int, *arguments: object) -> answers.Job:
        """Wait until a launch has succeeded, and bring the arrays it was given up to date; answers the job object.

        Args:
            job: Its id.
            arguments: As it was launched with.

        Raises:
            JobFailed: It ended otherwise.
        """
        from eddy.client.transport import arrays

        data = await self._client.wait(job)
        kernel = data["kernel"]
        for name, output in (kernel["outputs"] if kernel else {}).items():
            array = array_of(arguments[output["argument"]])
            if array is not None:
                array[...] = arrays.read_written_array(await self._client.output_bytes(job, name), output)
        return data
