# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How webhooks are signed: HMAC-SHA-256 over id, time and body, with the headers of Standard Webhooks.

Ref: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping

PREFIX = "whsec_"
"""What every secret begins with; the rest is base64 of the key."""
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
TOLERANCE_S = 300.0
"""How far the time of a message may be from the receiver's."""


def subscription_secret(keyed_hash: Callable[[str], str], subscription: str) -> str:
    """The secret of a subscription.

    It follows from the server's own secret, so no data base holds it.

    Args:
        keyed_hash: The hash under the server's secret, in hex.
        subscription: Its name, of which there was never another.
    """
    key = bytes.fromhex(keyed_hash(f"webhook\n{subscription}"))
    return PREFIX + base64.b64encode(key).decode()


def sign(secret: str, message: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The headers of one attempt.

    Args:
        secret: Of the subscription, with its prefix.
        message: Name of the message.
        timestamp_s: Of this attempt, in seconds since 1970.
        body: As it is sent.
    """
    return {ID: message, TIMESTAMP: str(timestamp_s), SIGNATURE: f"v1,{_digest(secret, message, timestamp_s, body)}"}


def verify(secret: str, headers: Mapping[str, str], body: bytes, now_s: float) -> bool:
    """Whether a message is the server's and is not an old one sent again; for receivers.

    Args:
        secret: As the subscription's owner was shown it.
        headers: Of the request, by names in small letters.
        body: As it came.
        now_s: Seconds since 1970.
    """
    try:
        message, timestamp_s = headers[ID], int(headers[TIMESTAMP])
        if abs(now_s - timestamp_s) > TOLERANCE_S:
            return False
        wanted = f"v1,{_digest(secret, message, timestamp_s, body)}"
        return any(hmac.compare_digest(each.encode(), wanted.encode()) for each in headers[SIGNATURE].split())
    except (KeyError, ValueError):
        return False


def _digest(secret: str, message: str, timestamp_s: int, body: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as failure:
        raise ValueError(f"a secret is {PREFIX} and base64") from failure
    signed = f"{message}.{timestamp_s}.".encode() + body
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
