# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hash under which keys are kept and the audit log is chained: nobody makes it without the server's secret."""

from __future__ import annotations

import hmac
from collections.abc import Callable


def make_keyed_hash(secret: bytes) -> Callable[[str], str]:
    """Answers how a text, such as a key or an audit entry, is hashed under the server's secret."""
    keyed = hmac.new(secret, digestmod="sha256")

    def hash_text(text: str) -> str:
        of_text = keyed.copy()
        of_text.update(text.encode())
        return of_text.hexdigest()

    return hash_text
