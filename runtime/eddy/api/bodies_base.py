"""What all request bodies share: their base, and the forms of names, digests and numbers in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

SHA256 = r"^[0-9a-f]{64}$"
NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
IDEMPOTENCY_KEY = r"^[!-~]{1,128}$"
MAX_ITEMS = 1 << 20
MAX_SECONDS = 1e9

Digest = Annotated[str, Field(pattern=SHA256, description="sha256 of a blob, 64 lower-case hex digits.")]


class Request(BaseModel):
    """Base of bodies: no unknown fields, no coercion between types."""

    model_config = ConfigDict(extra="forbid", strict=True)
