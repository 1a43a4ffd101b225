"""Python client of the hypervisor's HTTP API."""

from eddy.client.async_client import AsyncClient
from eddy.client.client import Client
from eddy.client.errors import AnswerTimeout, ApiError, JobFailed, ServerUnreachable, WaitTimeout
from eddy.client.job import Job
from eddy.client.stream import Event

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
