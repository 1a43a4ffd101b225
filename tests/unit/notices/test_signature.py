# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Webhooks are signed as Standard Webhooks has it, and receivers tell a forged or old message."""

from __future__ import annotations

import base64

import pytest
from eddy.notices.signature import TOLERANCE_S, sign, subscription_secret, verify
from eddy.store.account_tables.tenants import make_keyed_hash

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
BODY = b'{"type":"test"}'
AT_S = 1767225600


def test_a_signature_is_that_of_the_reference_library() -> None:
    """As `standardwebhooks` 1.1.0 for Python signs the same message."""
    assert sign(SECRET, "msg_1", AT_S, BODY) == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1767225600",
        "webhook-signature": "v1,gnOGJyJkfiLuj/1/p9g6bAzdiyvdN3jkFad8qBQ+G80=",
    }


@pytest.mark.parametrize(
    ("changed", "body", "now_s"),
    [
        ({}, b'{"type":"tesT"}', AT_S),
        ({"webhook-id": "msg_2"}, BODY, AT_S),
        ({"webhook-timestamp": str(AT_S + 1)}, BODY, AT_S),
        ({"webhook-timestamp": "soon"}, BODY, AT_S),
        ({"webhook-signature": "v1,AAAA"}, BODY, AT_S),
        ({"webhook-signature": ""}, BODY, AT_S),
        ({}, BODY, AT_S + TOLERANCE_S + 1),
    ],
)
def test_what_was_changed_or_is_old_is_not_taken(changed: dict[str, str], body: bytes, now_s: float) -> None:
    headers = sign(SECRET, "msg_1", AT_S, BODY)
    assert verify(SECRET, headers, BODY, AT_S + 60)
    assert not verify(SECRET, {**headers, **changed}, body, now_s)


def test_each_subscription_has_a_secret_of_its_own_that_follows_from_the_servers() -> None:
    one, other = make_keyed_hash(b"s" * 32), make_keyed_hash(b"t" * 32)
    found = {subscription_secret(one, "n1"), subscription_secret(one, "n2"), subscription_secret(other, "n1")}
    assert len(found) == 3
    assert subscription_secret(one, "n1") in found
    assert all(len(base64.b64decode(each.removeprefix("whsec_"))) == 32 for each in found)
