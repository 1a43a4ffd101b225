"""The hash under which keys are kept and the audit log is chained: nobody makes it without the server's secret."""

from __future__ import annotations

import hmac


def keyed_hash(secret: bytes, text: str) -> str:
    """HMAC-SHA-256 of a text under a secret, in hex."""
    return hmac.digest(secret, text.encode(), "sha256").hex()
