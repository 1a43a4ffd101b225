# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Python client of the hypervisor's HTTP API."""

from eddy.client.async_client import AsyncClient
from eddy.client.calls.job import Job
from eddy.client.client import Client
from eddy.client.transport.errors import AnswerTimeout, ApiError, JobFailed, ServerUnreachable, WaitTimeout
from eddy.client.transport.stream import Event

__all__ = [
    "AnswerTimeout",
    "ApiError",
    "AsyncClient",
    "Client",
    "Event",
    "Job",
    "JobFailed",
    "ServerUnreachable",
    "WaitTimeout",
]
