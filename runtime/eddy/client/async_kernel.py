"""A kernel for event loops: launched with numpy arrays, which are brought up to date where its job is awaited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from eddy.client import answers
from eddy.client.asked import asked
from eddy.client.async_transport import AsyncTransport
from eddy.client.job import Job
from eddy.client.kernel import KernelSource, array_of, little
from eddy.client.sendable import submission_key
from eddy.client.transport import T

Sizes = int | Sequence[int]


class AsyncLauncher(Protocol):
    """What a kernel asks of its client."""

    transport: AsyncTransport
    submit_timeout_s: float

    async def put_blob(self, data: bytes) -> str:
        """Store bytes, unless they are there already; answers their name."""

    async def wait(self, job: int) -> answers.Job:
        """Wait until a job has succeeded."""

    async def output_bytes(self, job: int, name: str) -> bytes:
        """An output of all items, end to end."""


class AsyncKernel(KernelSource):
    """A kernel of an OpenCL C source; as `eddy.client.kernel.Kernel`.

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
        self._client = client

    async def launch(
        self,
        global_size: Sizes,
        *arguments: object,
        local_size: Sizes | None = None,
        offset: Sizes | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
        time_limit_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        after: Iterable[int | Job] = (),
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        min_progress: float | None = None,
        idempotency_key: str | None = None,
    ) -> answers.Job:
        """Submit a launch; answers the job object. `Kernel.launch` says what the arguments are.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
            InvalidRequest: An argument or size does not fit.
        """
        body = await self._uploaded(global_size, arguments, local_size, offset)
        body |= {"priority": priority, "deadline_s": deadline_s, "time_limit_s": time_limit_s}
        body |= asked(labels, after, retries, end_late, min_progress)
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return await self._post(answers.Job, "/v1/jobs", body, headers)

    async def dry_run(
        self,
        global_size: Sizes,
        *arguments: object,
        local_size: Sizes | None = None,
        offset: Sizes | None = None,
        priority: int = 1,
        deadline_s: float | None = None,
        time_limit_s: float | None = None,
    ) -> answers.DryRun:
        """What a launch would cost and when it would run; no job is kept. Raises what `launch` does."""
        body = await self._uploaded(global_size, arguments, local_size, offset)
        body |= {"priority": priority, "deadline_s": deadline_s, "time_limit_s": time_limit_s}
        return await self._post(answers.DryRun, "/v1/jobs?dry_run=true", body, {})

    async def finish(self, job: int, *arguments: object) -> answers.Job:
        """Wait until a launch has succeeded, and bring the arrays it was given up to date; answers the job object.

        Args:
            job: Its id.
            arguments: As it was launched with.

        Raises:
            JobFailed: It ended otherwise.
        """
        from eddy.client import arrays

        data = await self._client.wait(job)
        kernel = data["kernel"]
        for name, output in (kernel["outputs"] if kernel else {}).items():
            array = array_of(arguments[output["argument"]])
            if array is not None:
                array[...] = arrays.written(await self._client.output_bytes(job, name), output)
        return data

    async def _uploaded(
        self, global_size: Sizes, arguments: Sequence[object], local_size: Sizes | None, offset: Sizes | None
    ) -> dict[str, Any]:
        body = self.body(global_size, arguments, local_size, offset)
        for array in map(array_of, arguments):
            if array is not None:
                await self._client.put_blob(little(array).tobytes())
        return body

    async def _post(self, kind: type[T], path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> T:
        # Compiling takes seconds, and its turn may have to come first.
        transport, answer_s = self._client.transport, self._client.submit_timeout_s
        return await transport.answer(kind, "POST", path, body=body, headers=headers, answer_s=answer_s)
