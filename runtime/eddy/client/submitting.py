"""Submitting application jobs: arrays into blobs and fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.asked import asked
from eddy.client.job import Job
from eddy.client.job_array import JobArray
from eddy.client.sendable import submission_key
from eddy.client.session import Session
from eddy.core.errors import InvalidRequest

if TYPE_CHECKING:
    from eddy.client.arrays import BufferInfo

OnUpload = Callable[[int, int], None]
"""Called with bytes sent and bytes in all."""


class Submitting(Session):
    """The part of a client that submits application jobs."""

    def buffers(self, application: str) -> list[BufferInfo]:
        """The buffers of an application."""
        raise NotImplementedError

    def submit(
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
        on_upload: OnUpload = lambda sent, total: None,
    ) -> Job:
        """Submit a job; the server has it durably when this returns.

        Args:
            application: Its name.
            inputs: Array by buffer name, for input buffers ``(batch, *shape)`` and for constants ``shape``.
            batch: Number of items; None for what the arrays have.
            priority: One of 1, 3, 9.
            deadline_s: Board seconds after arrival by which it should end.
            labels: Name to value, for people and for `jobs`.
            after: Jobs that must succeed first; where one does not, this one fails.
            retries: How often it is tried again after a fault it has no part in; or `{"max", "on"}`, with causes.
            end_late: Whether it ends, as failed, where its deadline has passed.
            idempotency_key: Names this submission; None for a new one, which makes the built-in retries safe.
            on_upload: Told about bytes sent.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field` and `allowed`.
            QuotaExceeded: Too many jobs or bytes.
        """
        (fields,), size = self._put_inputs(application, [inputs or {}], batch, on_upload)
        body = {
            "application": application,
            "batch": size,
            "priority": priority,
            **fields,
            **asked(labels, after, retries, end_late),
        }
        if deadline_s is not None:
            body["deadline_s"] = deadline_s
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return Job(self, self.transport.answer(answers.Job, "POST", "/v1/jobs", body=body, headers=headers))

    def submit_array(
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
        on_upload: OnUpload = lambda sent, total: None,
    ) -> JobArray:
        """Submit a job for each entry of `inputs`, all or none, under one id; the rest is as in `submit`.

        Raises:
            InvalidRequest: A field is wrong; `details` has `field`, with its place in the array.
            QuotaExceeded: Too many jobs or bytes.
        """
        each, size = self._put_inputs(application, inputs, batch, on_upload)
        job = {
            "application": application,
            "batch": size,
            "priority": priority,
            **asked(labels, after, retries, end_late),
        }
        if deadline_s is not None:
            job["deadline_s"] = deadline_s
        headers = {"Idempotency-Key": submission_key(idempotency_key)}
        return JobArray(
            self,
            self.transport.answer(
                answers.Array, "POST", "/v1/arrays", body={"job": job, "each": each}, headers=headers
            ),
        )

    def _put_inputs(
        self, application: str, jobs: Sequence[Mapping[str, Any]], batch: int | None, on_upload: OnUpload
    ) -> tuple[list[dict[str, Any]], int]:
        """Put the arrays of jobs up; answers for each its `inputs` and `constants`, and their batch."""
        from eddy.client import arrays

        known = {buffer.name: buffer for buffer in self.buffers(application)}
        payloads, batch = payloads_of(known, jobs, batch)
        every = {arrays.digest(data): data for payload in payloads for parts in payload.values() for data in parts}
        self._upload(list(every.values()), on_upload)
        return [fields_of(payload, known) for payload in payloads], batch

    def _upload(self, parts: list[bytes], on_upload: OnUpload) -> None:
        total, sent = sum(map(len, parts)), 0
        for data in parts:
            on_upload(sent, total)
            self.put_blob(data)
            sent += len(data)
        on_upload(sent, total)


def payloads_of(
    known: Mapping[str, BufferInfo], jobs: Sequence[Mapping[str, Any]], batch: int | None
) -> tuple[list[dict[str, list[bytes]]], int]:
    """What jobs need on the server: blobs by buffer for each, and their batch.

    Raises:
        InvalidRequest: An array is of no buffer, or does not fit it.
    """
    from eddy.client import arrays

    payloads: list[dict[str, list[bytes]]] = []
    for inputs in jobs:
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
    from eddy.client import arrays

    named = {name: [arrays.digest(data) for data in parts] for name, parts in payload.items()}
    return {
        "inputs": {name: hashes for name, hashes in named.items() if known[name].role != "constant"},
        "constants": {name: hashes[0] for name, hashes in named.items() if known[name].role == "constant"},
    }


def _taking(known: Mapping[str, BufferInfo], name: str) -> BufferInfo:
    """The input or constant buffer of that name."""
    takes = [buffer.name for buffer in known.values() if buffer.role in ("input", "constant")]
    if name not in takes:
        message = f"The application has no input or constant {name!r}; it has {', '.join(takes) or 'none'}."
        raise InvalidRequest(message, field=f"inputs.{name}", allowed=takes)
    return known[name]
