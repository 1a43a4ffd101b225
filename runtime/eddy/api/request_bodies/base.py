# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What all bodies and answers share: their bases, and the forms of names, digests and numbers in them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, FailFast, Field

SHA256 = r"^[0-9a-f]{64}$"
NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
IDEMPOTENCY_KEY = r"^[!-~]{1,128}$"
LINE = r"^[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$"
"""Text that neither steers a terminal nor changes the direction in which it is read."""
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
"""Forms in words, by pattern: a pattern tells few people what to write."""
MAX_ITEMS = 1 << 20

Digest = Annotated[str, Field(pattern=SHA256, description="sha256 of a blob, 64 lower-case hex digits.")]
Digests = Annotated[list[Digest], Field(min_length=1, max_length=MAX_ITEMS), FailFast()]
"""The blobs of a buffer; only the first wrong one is told of, since a body may have ten thousand."""


class Request(BaseModel):
    """Base of bodies: no unknown fields, no coercion between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid")


def with_example(example: dict[str, Any]) -> ConfigDict:
    """The configuration of an answer with an example."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})
