"""The forms that texts of a request must have, in words: a pattern tells few people what to write."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from eddy.api.bodies_base import IDEMPOTENCY_KEY, IDENTIFIER, LINE, NAME, SHA256

DAY = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$"
IN_WORDS: Mapping[str, str] = MappingProxyType(
    {
        DAY: "must be a day, as 2026-11-22",
        IDEMPOTENCY_KEY: "must be 1 to 128 printable characters of ASCII, without spaces",
        IDENTIFIER: "must begin with a letter or `_`, and have up to 64 letters, digits and `_`",
        LINE: "must be one line, without characters that steer a terminal",
        NAME: "must begin with a letter, and have up to 64 letters, digits and `_.-`",
        SHA256: "must be a sha256, 64 lower-case hex digits",
    }
)
"""By pattern."""
