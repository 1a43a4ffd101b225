# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who makes the request under way, and with what: for the log, the audit log, problems and streams."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class AnyTenant(Protocol):
    """Who makes a request: a tenant of a board, or of a pool."""

    @property
    def id(self) -> str:
        """Name."""

    @property
    def admin(self) -> bool:
        """Whether an operator."""


key_in_use: ContextVar[str] = ContextVar("key_in_use", default="")
"""Name of the key the request under way came with."""
cookie_in_use: ContextVar[str] = ContextVar("cookie_in_use", default="")
"""Cookie of the session it came with; "" where it came with the key itself, be there a cookie beside it or not."""
caller_in_use: ContextVar[AnyTenant | None] = ContextVar("caller_in_use", default=None)
"""Who makes the request under way, once that is known."""
AT_END = "eddy.at_end"
"""In a request's scope, and copies of it: what is called when it has ended, however it did."""
