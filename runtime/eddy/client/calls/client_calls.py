"""What every client can do, blocking or awaiting."""

from __future__ import annotations

from typing import Any

from eddy.client.calls.account_calls import AccountCalls
from eddy.client.calls.blob_calls import BlobCalls
from eddy.client.calls.job_calls import JobCalls
from eddy.client.calls.lookup_calls import LookupCalls
from eddy.client.calls.operator_calls import OperatorCalls
from eddy.client.calls.submit_calls import SubmitCalls
from eddy.client.transport.request_values import setting

SUBMIT_TIMEOUT_S = 600.0
"""A compilation takes up to a minute, and the compilations before it come first."""


class ClientCalls(AccountCalls, BlobCalls, JobCalls, LookupCalls, OperatorCalls, SubmitCalls):
    """The calls of a client; `BlockingCaller` or `AwaitingCaller` beside it says how they are carried out."""


def transport_settings(
    url: str | None, key: str | None, timeout_s: float | None, retries: int | None
) -> dict[str, Any]:
    """What a transport is made with, from what was given and the environment.

    Raises:
        InvalidRequest: An environment variable is not of its type.
    """
    return {
        "url": str(setting("url")) if url is None else url,
        "key": str(setting("key")) if key is None else key,
        "timeout_s": float(setting("http_timeout_s")) if timeout_s is None else timeout_s,
        "retries": int(setting("http_retries")) if retries is None else retries,
    }
