# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submitting application jobs: arrays into blobs and fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.calls.blob_calls import put_bytes
from eddy.client.calls.job import Job
from eddy.client.calls.job_array import JobArray
from eddy.client.calls.lookup_calls import buffers_of
from eddy.client.calls.submission_fields import submission_fields
from eddy.client.transport.call_modes import Caller, call, call_with_handle
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import submission_key
from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from eddy.client.calls.submission_fields import Others
    from eddy.client.transport.arrays import BufferInfo


OnUpload = Callable[[int, int], None]
"""Called with bytes sent and bytes in all."""


def _handle_on_job(client: Any, data: answers.Job, given: tuple[Any, ...]) -> Job:
    return Job(client, data)


def _handle_on_array(client: Any, data: answers.Array, given: tuple[Any, ...]) -> JobArray:
    return JobArray(client, data)


class SubmitCalls(Caller):
    """The part of a client that submits application jobs."""

    @call_with_handle(_handle_on_job)
    def submit(
        self,
        application: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        labels: Mapping[str, str] | None = None,
        after: Others = (),
        afterany: Others = (),
        afternotok: Others = (),
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        idempotency_key: str | None = None,
        on_upload: OnUpload = lambda sent, total: None,
        **options: Unpack[answers.SubmissionOptions],
    ) -> Operation[answers.Job]:
        """Submit a job; the server has it durably when this returns.

        Answers a handle on it where it blocks, the job object where it is awaited.

        Args:
            application: Its name.
            inputs: Array by buffer name, for input buffers ``(batch, *shape)`` and for constants ``shape``.
            batch: Number of items; None for what the arrays have.
            labels: Name to value, for people and for `jobs`.
            after: Jobs and arrays that must succeed first; where one does not, this one fails.
            afterany: Jobs and arrays that must end first, however.
            afternotok: Jobs and arrays that must fail or be cancelled first; where one succeeds, this one is cancelled.
            retries: How often it is tried again after a fault it has no part in; or `{"max", "on"}`, with causes.
            end_late: Whether it ends, as failed, where its deadline has passed.
            idempotency_key: Names this submission; None for a new one, which makes the built-in retries safe.
            on_upload: Told about bytes sent.
            options: Other fields of a submission, such as `priority` and `deadline_s`: see `answers.SubmissionOptions`.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            QuotaExceeded: Too many jobs or bytes.
        """
        beside = submission_fields(options, labels, after, retries, end_late, afterany, afternotok)
        (fields,), same = yield from self._uploaded(application, [_given(inputs)], batch, on_upload)
        body = {**same, **fields, **beside}
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return (yield from self.transport.read_answer(answers.Job, "POST", "/v1/jobs", body=body, headers=headers))

    @call_with_handle(_handle_on_array)
    def submit_array(
        self,
        application: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        batch: int | None = None,
        labels: Mapping[str, str] | None = None,
        after: Others = (),
        afterany: Others = (),
        afternotok: Others = (),
        aftercorr: Others = (),
        max_running: int | None = None,
        retries: int | Mapping[str, Any] | None = None,
        end_late: bool = False,
        idempotency_key: str | None = None,
        on_upload: OnUpload = lambda sent, total: None,
        **options: Unpack[answers.SubmissionOptions],
    ) -> Operation[answers.Array]:
        """Submit a job for each entry of `inputs`, all or none, under one id; the rest is as in `submit`.

        Args:
            aftercorr: Arrays with as many jobs; each job waits for the success of the one in its place.
            max_running: Most jobs of the array that are ready or run at once; None for any number.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field`, with its place in the array.
            QuotaExceeded: Too many jobs or bytes.
        """
        beside = submission_fields(options, labels, after, retries, end_late, afterany, afternotok, aftercorr)
        each, same = yield from self._uploaded(application, inputs, batch, on_upload)
        bound = {} if max_running is None else {"max_running": max_running}
        body = {"job": {**same, **beside}, "each": each, **bound}
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return (yield from self.transport.read_answer(answers.Array, "POST", "/v1/arrays", body=body, headers=headers))

    @call
    def dry_run(
        self,
        application: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        **options: Unpack[answers.SubmissionOptions],
    ) -> Operation[answers.DryRun]:
        """What a submission would cost and when it would run; the arrays are uploaded, the job is not kept.

        Returns:
            `slot_seconds`, `core_seconds`, `loads` and `estimate`; see `POST /v1/jobs?dry_run=true`.

        Raises:
            InvalidRequest, QuotaExceeded: As `submit` does.
        """
        beside = submission_fields(options)
        (fields,), same = yield from self._uploaded(application, [_given(inputs)], batch)
        body = {**same, **fields, **beside}
        return (yield from self.transport.read_answer(answers.DryRun, "POST", "/v1/jobs?dry_run=true", body=body))

    def _uploaded(
        self,
        application: str,
        jobs: Sequence[Mapping[str, Any]],
        batch: int | None,
        on_upload: OnUpload = lambda sent, total: None,
    ) -> Operation[tuple[list[dict[str, Any]], dict[str, Any]]]:
        """Upload the arrays of jobs; returns each one's own fields, and those that all share."""
        from eddy.client.transport import arrays

        known = {buffer.name: buffer for buffer in (yield from buffers_of(self.transport, application))}
        payloads, batch = payloads_of(known, jobs, batch)
        every = {arrays.digest(data): data for payload in payloads for parts in payload.values() for data in parts}
        total, sent = sum(map(len, every.values())), 0
        for data in every.values():
            on_upload(sent, total)
            yield from put_bytes(self.transport, data)
            sent += len(data)
        on_upload(sent, total)
        return [fields_of(payload, known) for payload in payloads], {"application": application, "batch": batch}


def _given(inputs: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {} if inputs is None else inputs


def payloads_of(
    known: Mapping[str, BufferInfo], jobs: Sequence[Mapping[str, Any]], batch: int | None
) -> tuple[list[dict[str, list[bytes]]], int]:
    """What jobs need on the server: blobs by buffer for each, and their batch.

    Raises:
        InvalidRequest: An array is of no buffer, or does not fit it.
    """
    from eddy.client.transport import arrays

    payloads: list[dict[str, list[bytes]]] = []
    for inputs in jobs:
        if not isinstance(inputs, Mapping):
            takes = ", ".join(
                f"{name!r}: array" for name, buffer in known.items() if buffer.role in ("input", "update")
            )
            message = f"The inputs are {type(inputs).__name__}; give arrays by name: {{{takes}}}."
            raise InvalidRequest(message, field="inputs")
        payload: dict[str, list[bytes]] = {}
        for name, array in inputs.items():
            buffer = _taking(known, name)
            if buffer.role == "constant":
                payload[name] = [arrays.constant(array, buffer)]
                continue
            parts = arrays.items(array, buffer, batch)
            batch = len(parts)
            payload[name] = arrays.blobs(parts)
        payloads.append(payload)
    return payloads, 1 if batch is None else batch


def fields_of(payload: Mapping[str, list[bytes]], known: Mapping[str, BufferInfo]) -> dict[str, Any]:
    """`inputs` and `constants` of a submission, naming blobs."""
    from eddy.client.transport import arrays

    named = {name: [arrays.digest(data) for data in parts] for name, parts in payload.items()}
    return {
        "inputs": {name: hashes for name, hashes in named.items() if known[name].role != "constant"},
        "constants": {name: hashes[0] for name, hashes in named.items() if known[name].role == "constant"},
    }


def _taking(known: Mapping[str, BufferInfo], name: str) -> BufferInfo:
    """The input or constant buffer of that name."""
    takes = [buffer.name for buffer in known.values() if buffer.role in ("input", "update", "constant")]
    if name not in takes:
        message = f"The application has no input or constant {name!r}; it has {', '.join(takes) or 'none'}."
        raise InvalidRequest(message, field=f"inputs.{name}", allowed=takes)
    return known[name]
