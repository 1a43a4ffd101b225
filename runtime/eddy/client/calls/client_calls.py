# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every client can do, blocking or awaiting."""

from __future__ import annotations

from typing import Any

from eddy.client import answers
from eddy.client.calls.blob_calls import BlobCalls
from eddy.client.calls.job_calls import JobCalls
from eddy.client.calls.lease_calls import LeaseCalls
from eddy.client.calls.lookup_calls import LookupCalls
from eddy.client.calls.notice_calls import NoticeCalls
from eddy.client.calls.operator_calls import OperatorCalls
from eddy.client.calls.submit_calls import SubmitCalls
from eddy.client.calls.views import Listing
from eddy.client.transport.call_modes import Caller, call
from eddy.client.transport.operations import Operation
from eddy.client.transport.request_values import quote_segment, read_setting


class AccountCalls(Caller):
    """The part of a client that concerns its tenant, not its jobs."""

    @call
    def who_am_i(self) -> Operation[answers.SessionAnswer]:
        """Who you are: `tenant`, and whether you are an `operator`."""
        return self.transport.read_answer(answers.SessionAnswer, "GET", "/v1/session")

    @call
    def sign_on_offer(self) -> Operation[answers.SignOnOffer]:
        """Whether people log in at an identity provider, and where."""
        return self.transport.read_answer(answers.SignOnOffer, "GET", "/v1/session/sign-on/offer")

    @call
    def fetch_sign_on_key(self, code: str, verifier: str) -> Operation[answers.SignOnKey]:
        """The key of a log-in at the identity provider, for the code that the browser brought."""
        body = {"code": code, "verifier": verifier}
        return self.transport.read_answer(answers.SignOnKey, "POST", "/v1/session/sign-on/key", body=body)

    @call
    def keys(self, tenant: str = "") -> Operation[Listing[answers.Key]]:
        """Your API keys, without the keys themselves; a tenant's, or everyone's, for operators."""
        found = yield from self.transport.read_answer(answers.KeyList, "GET", "/v1/keys", params={"tenant": tenant})
        return Listing(found["keys"], found.get("damaged", ()))

    @call
    def make_key(self, /, **fields: Any) -> Operation[answers.KeyMade]:
        """A new API key; the answer has it as `key`, this once.

        Args:
            fields: `tenant`, `scope`, `label`, `expires_in_s`, `replaces`, `grace_s`, as `POST /v1/keys` takes them.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        return self.transport.read_answer(answers.KeyMade, "POST", "/v1/keys", body=given)

    @call
    def revoke_key(self, key: str) -> Operation[None]:
        """Revoke a key, by its name.

        Raises:
            Conflict: It is the last operator's key.
        """
        yield from self.transport.send_request("DELETE", f"/v1/keys/{quote_segment(key)}")

    @call
    def usage(self, first: str = "", last: str = "", tenant: str = "") -> Operation[answers.UsageReport]:
        """What you had of slots and cores, by day (UTC); everyone, and what it adds up to, for operators.

        Args:
            first: First day, as `2026-11-22`; "" for all.
            last: Last day.
            tenant: Only this tenant's (operators).
        """
        params = {name: value for name, value in (("from", first), ("to", last), ("tenant", tenant)) if value}
        return self.transport.read_answer(answers.UsageReport, "GET", "/v1/usage", params=params)

    @call
    def quota(self) -> Operation[answers.QuotaAnswer]:
        """Your bounds, and how much of each is used."""
        return self.transport.read_answer(answers.QuotaAnswer, "GET", "/v1/quota")


SUBMIT_TIMEOUT_S = 600.0
"""A compilation takes up to a minute, and the compilations before it come first."""


class ClientCalls(AccountCalls, BlobCalls, JobCalls, LeaseCalls, LookupCalls, NoticeCalls, OperatorCalls, SubmitCalls):
    """The calls of a client; `BlockingCaller` or `AwaitingCaller` beside it says how they are carried out."""


def transport_settings(
    url: str | None, key: str | None, timeout_s: float | None, retries: int | None
) -> dict[str, Any]:
    """What a transport is made with, from what was given and the environment.

    Raises:
        InvalidRequest: An environment variable is not of its type.
    """
    return {
        "url": str(read_setting("url")) if url is None else url,
        "key": str(read_setting("key")) if key is None else key,
        "timeout_s": float(read_setting("http_timeout_s")) if timeout_s is None else timeout_s,
        "retries": int(read_setting("http_retries")) if retries is None else retries,
    }
