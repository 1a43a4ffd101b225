# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels from the tenant's side: OpenCL C and numpy arrays, as with PyOpenCL.

::

    saxpy = client.kernel(source, "saxpy")
    job = saxpy.launch(x.size, y, x, np.float32(2.5)).wait()   # y holds the result now

`launch` does not wait: several launches may be under way at once, and each `wait` brings its own arrays up to date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from eddy.client import answers
from eddy.client.calls.blob_calls import put_bytes
from eddy.client.calls.job import Job
from eddy.client.calls.submission_fields import submission_fields
from eddy.client.transport.async_transport import AsyncTransport
from eddy.client.transport.call_modes import AwaitingCaller, BlockingCaller, Caller, call, call_with_handle
from eddy.client.transport.operations import Operation, T
from eddy.client.transport.request_values import submission_key
from eddy.core.conversion import convert, to_little_endian
from eddy.core.errors import EddyError, InvalidRequest
from eddy.gpu.launches.launch import ImageArgument, Local, array_of
from eddy.gpu.launches.request import ELEMENTS, ArgumentValue, Buffer, KernelRequest, RepeatedArray
from eddy.gpu.programs.image import Texels

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from eddy.client.calls.submission_fields import Others
    from eddy.client.transport.arrays import Array
    from eddy.client.transport.session import Session


__all__ = ["Kernel", "KernelJob", "KernelSource", "Local", "array_of"]


class KernelSource:
    """A kernel of a source, and what a launch of it asks for.

    Args:
        source: OpenCL C 1.2.
        name: Name of the kernel.
        defines: Macros.
        includes: Headers by the names the source includes them by.
        options: Build options.
    """

    def __init__(
        self,
        source: str,
        name: str,
        defines: Mapping[str, object] | None = None,
        includes: Mapping[str, str] | None = None,
        options: str = "",
    ) -> None:
        self.source, self.name = source, name
        self.includes, self.options = dict(includes or {}), options
        self.defines = {key: str(value) for key, value in (defines or {}).items()}

    def body(
        self,
        global_size: int | Sequence[int],
        arguments: Sequence[object],
        local_size: int | Sequence[int] | None,
        offset: int | Sequence[int] | None,
    ) -> dict[str, Any]:
        """What is submitted for a launch, whose arrays are uploaded beside it.

        Raises:
            InvalidRequest: An argument does not fit.
        """
        request = KernelRequest(
            self.source,
            self.name,
            _sizes("global_size", global_size),
            tuple(self._value(arguments, place) for place in range(len(arguments))),
            None if local_size is None else _sizes("local_size", local_size),
            None if offset is None else _sizes("offset", offset),
            self.defines,
            self.includes,
            self.options,
        )
        return {"kernel": request.to_json()}

    def _value(self, arguments: Sequence[object], place: int) -> ArgumentValue:
        from eddy.client.transport import arrays

        argument = arguments[place]
        if argument is None or isinstance(argument, (Local, bytes)):
            return argument
        if isinstance(argument, np.void):
            return to_little_endian(argument).tobytes()
        if isinstance(argument, np.ndarray) and argument.ndim:
            first = next(k for k, known in enumerate(arguments) if known is argument)
            if first < place:
                return RepeatedArray(first)
            data = _sendable(argument, place)
            return Buffer(arrays.digest(data.tobytes()), data.dtype.str, data.shape)
        if isinstance(argument, ImageArgument):
            data = _sendable(argument.array, place)
            texels = Texels(data.shape, argument.order, argument.kind)
            return Buffer(arrays.digest(data.tobytes()), data.dtype.str, data.shape, texels)
        if isinstance(argument, (tuple, list)):
            return tuple(_number(part, place) for part in argument)
        return _number(argument, place)


def _sendable(array: Array, place: int) -> Array:
    """An array in the form in which a kernel's arrays travel.

    Raises:
        InvalidRequest: Its elements are none that a kernel's array may have, or are masked.
    """
    what, field = f"Argument {place}", f"arguments[{place}]"
    data = np.ascontiguousarray(convert(array, array.dtype.newbyteorder("<"), what, field))
    if not ELEMENTS.match(data.dtype.str):
        allowed = "an array of integers or floating-point numbers of 1, 2, 4 or 8 bytes"
        message = f"Argument {place} is an array of {array.dtype}; pass {allowed}, as `array.astype(...)` makes it."
        raise InvalidRequest(message, field=field, allowed=allowed)
    return data


def _number(value: object, place: int) -> int | float:
    """A number as JSON has it; the server checks that the kernel's type holds it.

    Raises:
        InvalidRequest: It is none, or one that JSON rounds.
    """
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(convert(value, np.float64, f"Argument {place}", f"arguments[{place}]"))
    allowed = "arrays, numbers, tuples of numbers, records, ImageArgument, Local or None"
    message = f"Argument {place} is or has {type(value).__name__}; pass {allowed}."
    raise InvalidRequest(message, field=f"arguments[{place}]")


class KernelJob(Job):
    """A launch on the server."""

    def __init__(self, client: Session, data: answers.Job, arguments: Sequence[object]) -> None:
        super().__init__(client, data)
        self._arguments = arguments
        self._printed: str | None = None

    def __repr__(self) -> str:
        return f"<KernelJob {self.id} {self.state}>"

    def wait(self, timeout_s: float | None = None, on_change: Any = None, *, progress: bool = False) -> KernelJob:
        """Wait until it has succeeded, then bring the arrays the kernel may have written up to date.

        Raises:
            JobFailed: It ended otherwise; the message says why.
            WaitTimeout: It goes on, but the time is over.
        """
        from eddy.client.transport import arrays

        try:
            super().wait(timeout_s, on_change, progress=progress)
        finally:
            if self.ended:
                with suppress(EddyError):  # why the job failed matters more
                    self._printed = self._fetch_log()
        for name, output in self._result().get("outputs", {}).items():
            array = array_of(self._arguments[output["argument"]])
            if array is not None:
                _writable(array, self.id, name, output["argument"])
                array[...] = arrays.read_written_array(self._client.output_bytes(self.id, name), output)
        return self

    def _result(self) -> Mapping[str, Any]:
        return dict(self.data.get("kernel") or {})

    @property
    def log(self) -> str:
        """What the kernel printed, in the order of work-items; also of one that failed. Empty until it has ended."""
        return self._fetch_log() if self._printed is None else self._printed

    def _fetch_log(self) -> str:
        return self._client.log(self.id) if self._result().get("log_bytes") else ""

    @property
    def parallel_fraction(self) -> float | None:
        """F, as the counters of this launch show it; None where they show nothing."""
        found = self._result().get("parallel_fraction")
        return None if found is None else float(found)


def _writable(array: Array, job: int, name: str, place: int) -> None:
    """Raises `InvalidRequest` where the result cannot be brought into an array."""
    if not array.flags.writeable:
        raise InvalidRequest(
            f"Job {job} has succeeded, and its argument {place} is a read-only array that the kernel has written: take"
            f" the result from job.outputs[{name!r}], or launch with a copy of the array.",
            field=f"arguments[{place}]",
        )


def _handle_on_launch(kernel: Any, data: answers.Job, given: tuple[Any, ...]) -> KernelJob:
    return KernelJob(kernel.client, data, given[1:])  # the first is the global size


class LaunchCalls(Caller, KernelSource):
    """A kernel of a source, and the calls that launch it."""

    submit_timeout_s: float

    @call_with_handle(_handle_on_launch)
    def launch(
        self,
        global_size: int | Sequence[int],
        *arguments: object,
        local_size: int | Sequence[int] | None = None,
        offset: int | Sequence[int] | None = None,
        labels: Mapping[str, str] | None = None,
        after: Others = (),
        afterany: Others = (),
        afternotok: Others = (),
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        idempotency_key: str | None = None,
        **options: Unpack[answers.SubmissionOptions],
    ) -> Operation[answers.Job]:
        """Submit a launch, without waiting for it; the server has it durably when this returns.

        The arrays are copied now. Those the kernel may write are brought up to date by `KernelJob.wait`.

        Args:
            global_size: Work-items, by dimension.
            arguments: In the kernel's order: arrays (or None) for pointers, `Local(bytes)` for `__local` ones, numbers,
                tuples for vectors, numpy records (or bytes) for structures. An array that is given twice is one array
                to the kernel too.
            local_size: Work-group size; None for what suits the cluster.
            offset: What `get_global_id` counts from.
            labels: Name to value, for people and for `Client.jobs`.
            after: Jobs and arrays that must succeed first; where one does not, this one fails.
            afterany: Jobs and arrays that must end first, however.
            afternotok: Jobs and arrays that must fail or be cancelled first; where one succeeds, this one is cancelled.
            retries: How often it is tried again after a fault it has no part in; or `{"max", "on"}`, with causes.
            end_late: Whether it ends, as failed, where its deadline has passed.
            idempotency_key: Names this submission; None for a new one.
            options: Other fields of a submission, such as `priority`, `time_limit_s` and `min_progress`: see
                `answers.SubmissionOptions`.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
            InvalidRequest: An argument or size does not fit.
        """
        beside = submission_fields(options, labels, after, retries, end_late, afterany, afternotok)
        body = yield from self._uploaded(global_size, arguments, local_size, offset)
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        body |= beside
        return (yield from self._posted(answers.Job, "/v1/jobs", body, headers))

    @call
    def dry_run(
        self,
        global_size: int | Sequence[int],
        *arguments: object,
        local_size: int | Sequence[int] | None = None,
        offset: int | Sequence[int] | None = None,
        **options: Unpack[answers.SubmissionOptions],
    ) -> Operation[answers.DryRun]:
        """What a launch would cost and when it would run; it is compiled and its arrays are uploaded, no job is kept.

        Args:
            global_size: As in `launch`, like all the others.
            arguments: In the kernel's order.
            local_size: Work-group size.
            offset: What `get_global_id` counts from.
            options: Other fields of a submission.

        Returns:
            `slot_seconds`, `core_seconds`, `loads` and `estimate`; see `POST /v1/jobs?dry_run=true`.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
            InvalidRequest: An argument or size does not fit.
        """
        beside = submission_fields(options)
        body = yield from self._uploaded(global_size, arguments, local_size, offset)
        body |= beside
        return (yield from self._posted(answers.DryRun, "/v1/jobs?dry_run=true", body, {}))

    def _uploaded(
        self,
        global_size: int | Sequence[int],
        arguments: Sequence[object],
        local_size: int | Sequence[int] | None,
        offset: int | Sequence[int] | None,
    ) -> Operation[dict[str, Any]]:
        body = self.body(global_size, arguments, local_size, offset)
        for array in map(array_of, arguments):
            if array is not None:
                yield from put_bytes(self.transport, to_little_endian(array).tobytes())
        return body

    def _posted(self, kind: type[T], path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Operation[T]:
        # Compiling takes seconds, and its turn may have to come first.
        return self.transport.read_answer(
            kind, "POST", path, body=body, headers=headers, answer_s=self.submit_timeout_s
        )


class Kernel(BlockingCaller, LaunchCalls):
    """A kernel of a source, ready to launch; made by `Client.kernel`."""

    def __init__(
        self,
        client: Session,
        source: str,
        name: str,
        defines: Mapping[str, object] | None = None,
        includes: Mapping[str, str] | None = None,
        options: str = "",
    ) -> None:
        super().__init__(source, name, defines, includes, options)
        self.client, self.transport, self.submit_timeout_s = client, client.transport, client.submit_timeout_s


def _sizes(name: str, sizes: int | Sequence[int]) -> tuple[int, ...]:
    """Sizes by dimension.

    Raises:
        InvalidRequest: They are other than whole numbers.
    """
    found = tuple(sizes) if isinstance(sizes, (Sequence, np.ndarray)) and not isinstance(sizes, str) else (sizes,)
    if not found or not all(isinstance(size, (int, np.integer)) for size in found):
        message = f"{name} is {sizes!r:.60}; give a whole number, or one to three of them, such as (64, 32)."
        raise InvalidRequest(message, field=name, allowed="one to three whole numbers")
    return tuple(int(size) for size in found)


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
