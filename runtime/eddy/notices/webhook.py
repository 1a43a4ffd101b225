# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One attempt to post a message to a receiver that may be slow, dead or hostile."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import ssl
from dataclasses import dataclass

import httpx

from eddy.core.errors import InvalidRequest
from eddy.notices.lookups import TooManyLookups, look_up
from eddy.notices.targets import Address, TargetRules, WebhookTarget, parse_webhook

CONNECT_S, ATTEMPT_S = 5.0, 15.0
"""Wall seconds for a connection, and for all of an attempt."""
GONE = 410
"""What a receiver answers that wants no more."""
MAX_ANSWER_BYTES = 4096
"""Bytes of an answer that are read, so that the connection ends in order; nothing of them is kept or shown."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt.

    Attributes:
        delivered: Whether the receiver has it.
        status: What it answered; None for nothing.
        said: What went wrong; "" for nothing.
        ends: Whether it wants no more messages.
    """

    delivered: bool
    status: int | None = None
    said: str = ""
    ends: bool = False


class AttemptFailed(Exception):
    """A message could not be handed over; the sentence says why."""


async def addresses_of(target: WebhookTarget, whose: str) -> list[Address]:
    """All addresses of a target's host, which a tenant named.

    Raises:
        AttemptFailed: It has none, or others of the tenant are still looked up.
    """
    try:
        found = await look_up(target.host, target.port, whose, CONNECT_S)
    except (OSError, UnicodeError, asyncio.TimeoutError) as failure:
        raise AttemptFailed(f"the name {target.host} cannot be resolved") from failure
    except TooManyLookups as failure:
        raise AttemptFailed("other names of this tenant are still being looked up; try again soon") from failure
    return [ipaddress.ip_address(each.partition("%")[0]) for each in found]


async def post(target: str, headers: dict[str, str], body: bytes, rules: TargetRules | None, whose: str) -> Outcome:
    """Post a message; every way to fail is an outcome.

    The connection goes to the address that was checked, so a name that means another one a moment later gains nothing.
    Redirections are not followed, and no proxy of the environment is used.

    Args:
        body: JSON.
        rules: Which receivers are allowed; None for an operator's, which may be any.
        whose: The tenant that named it.
    """
    try:
        return await asyncio.wait_for(_post(parse_webhook(target), headers, body, rules, whose), timeout=ATTEMPT_S)
    except asyncio.TimeoutError:
        return Outcome(False, said=f"no answer within {ATTEMPT_S:g} s")
    except (AttemptFailed, InvalidRequest) as failure:
        return Outcome(False, said=str(failure))
    except ssl.SSLError as failure:
        return Outcome(False, said=f"TLS failed: {failure.reason or 'the certificate is not accepted'}")
    except (httpx.HTTPError, OSError) as failure:
        return Outcome(False, said=_describe_failure(failure))


async def _post(
    target: WebhookTarget, headers: dict[str, str], body: bytes, rules: TargetRules | None, whose: str
) -> Outcome:
    found = await addresses_of(target, whose)
    address = found[0] if rules is None else rules.check_addresses(target.host, found)
    host = f"[{address}]" if address.version == 6 else str(address)
    url = f"{'https' if target.secure else 'http'}://{host}:{target.port}{target.path}"
    default = target.port == (443 if target.secure else 80)
    named = f"[{target.host}]" if ":" in target.host else target.host
    sent = {
        **headers,
        "host": named if default else f"{named}:{target.port}",
        "content-type": "application/json",
        "user-agent": "eddy",
        "connection": "close",
    }
    timeout = httpx.Timeout(ATTEMPT_S, connect=CONNECT_S)
    client = httpx.AsyncClient(verify=_trusted(), trust_env=False, timeout=timeout, follow_redirects=False)
    async with client:
        request = client.build_request(
            "POST", url, headers=sent, content=body, extensions={"sni_hostname": target.host}
        )
        answer = await client.send(request, stream=True)
        try:
            await _read_some(answer)
        finally:
            await answer.aclose()
    good = 200 <= answer.status_code < 300
    said = "" if good else f"answered {answer.status_code}"
    return Outcome(good, answer.status_code, said, answer.status_code == GONE)


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The machine's own certificates, a lab's among them; they are read once."""
    return ssl.create_default_context()


async def _read_some(answer: httpx.Response) -> None:
    size = 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size >= MAX_ANSWER_BYTES:
            return


def _describe_failure(failure: Exception) -> str:
    """What went wrong, without addresses: a tenant is not told what its name means inside the operator's network."""
    if isinstance(failure, httpx.ConnectTimeout):
        return f"no connection within {CONNECT_S:g} s"
    if isinstance(failure, httpx.ConnectError):
        if "certificate" in str(failure).lower():
            return "TLS failed: the certificate is not accepted"
        return "no connection: refused, or the host is away"
    if isinstance(failure, httpx.TimeoutException):
        return f"no answer within {ATTEMPT_S:g} s"
    return f"the connection broke ({type(failure).__name__})"
