# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that ask for leases, extend them, and drive their slots."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from eddy.api.request_bodies.base import Request
from eddy.api.request_bodies.numbers import Whole
from eddy.board.port.port import MAX_ACCESSES, MAX_IMAGE_BYTES, WINDOW_BYTES, RegisterAccess
from eddy.core.errors import InvalidRequest
from eddy.core.leases import (
    DEFAULT_S,
    MAX_BYTES,
    MAX_S,
    MIN_BYTES,
    MIN_S,
    LeaseKind,
    LeaseOptions,
)
from eddy.core.slots import Control, Image

MAX_WAIT_S = 30.0
_Slot = Annotated[Whole | None, Field(default=None, ge=0, le=1 << 16)]
_Word = Annotated[Whole, Field(ge=0, lt=1 << 32)]
_Access = Annotated[list[_Word | None], Field(min_length=2, max_length=2)]


class LeaseSubmission(Request):
    """A lease to be asked for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "slot", "module": "dct", "lasts_s": 1800}]})

    kind: Literal["slot", "board"] = Field(
        default="slot", description="A slot, or (operators) all that jobs are given."
    )
    lasts_s: float = Field(
        default=DEFAULT_S, ge=MIN_S, le=MAX_S, description="Wall seconds that it lasts, from its beginning."
    )
    module: str = Field(
        default="", max_length=128, description="What its slot is loaded with at first; empty: nothing."
    )
    memory_bytes: Whole | None = Field(
        default=None,
        ge=MIN_BYTES,
        le=MAX_BYTES,
        description="Board memory for its holder's buffers; null for 16 MiB, or half of what one tenant may have.",
    )

    def options(self) -> LeaseOptions:
        """As the engine takes them."""
        return LeaseOptions(LeaseKind(self.kind), self.lasts_s, self.module, self.memory_bytes or 0)


class LeaseExtension(Request):
    """More time for a lease."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"more_s": 900}]})

    more_s: float = Field(ge=1.0, le=MAX_S, description="Wall seconds that it lasts longer.")


class ModuleLoad(Request):
    """A module for a slot that is held."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"module": "dct"}]})

    module: str = Field(min_length=1, max_length=128, description="By its name.")
    slot: _Slot = Field(default=None, description="Which; null for the lease's first one.")
    wait_s: float = Field(default=MAX_WAIT_S, ge=0, le=MAX_WAIT_S, description="Wall seconds to wait for its end.")


_Hash64 = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
_Claim = Annotated[str, Field(default="", pattern=r"^([0-9a-f]{16})?$")]


class ImageManifest(Request):
    """What an image is: the fields of its manifest that its signature covers, and the signature."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Of its `.bit` file, which is a blob of yours.")
    module: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$", description="Name of its module.")
    build: _Hash64 = Field(description="Build hash, as the module's identity block reads.")
    shell: _Hash64 = Field(description="The shell it was built for.")
    slot: Whole = Field(ge=0, le=1 << 16, description="The slot it was built for; the lease must hold it.")
    bytes: Whole = Field(ge=1, le=MAX_IMAGE_BYTES, description="Of the file's payload.")
    clk_hz: float = Field(gt=0, le=1e10, description="Clock the module was built for.")
    signature: str = Field(default="", max_length=256, description="Ed25519 over the others, in hex; empty: unsigned.")
    scrub_build: _Claim = Field(description="Build that a reset clears; of no effect in a lease.")
    checked_build: _Claim = Field(description="Build that passed the check of the slot contract.")
    control: Literal["hs", "chain", "none"] = Field(default="hs", description="How the module is started.")

    def image(self) -> Image:
        """As the board takes it."""
        return Image(**{**dict(self), "control": Control(self.control)})


class OwnImage(Request):
    """An image of your own for a slot that is held."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "manifest": {
                        "sha256": "5f" * 32,
                        "module": "brighten",
                        "build": "0f975cf133d442d5",
                        "shell": "39a575c5838c8ca5",
                        "slot": 1,
                        "bytes": 1015828,
                        "clk_hz": 99990005.0,
                        "checked_build": "0f975cf133d442d5",
                        "signature": "a7" * 64,
                    }
                }
            ]
        }
    )

    manifest: ImageManifest = Field(description="The image's manifest, as it was signed.")
    wait_s: float = Field(default=MAX_WAIT_S, ge=0, le=MAX_WAIT_S, description="Wall seconds to wait for its end.")


class RegisterAccesses(Request):
    """Accesses of the registers of a slot that is held, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"accesses": [[16, 1], [0, None]]}]})

    accesses: list[_Access] = Field(
        default_factory=list,
        max_length=MAX_ACCESSES,
        description="Pairs of a byte offset in the module's window and the word to be written; null reads it. None says"
        " only that the holder is there.",
    )
    slot: _Slot = Field(default=None, description="Which; null for the lease's first one.")

    def port_accesses(self) -> tuple[RegisterAccess, ...]:
        """As the board takes them.

        Raises:
            InvalidRequest: An offset is not in the module's window.
        """
        for place, (offset, _) in enumerate(self.accesses):
            if offset is None or offset % 4 or offset >= WINDOW_BYTES:
                message = f"Field accesses[{place}]: offset {offset} is not in the module's window."
                allowed = f"multiples of 4 from 0 to below {WINDOW_BYTES}"
                raise InvalidRequest(message, field=f"accesses[{place}]", allowed=allowed)
        return tuple(RegisterAccess(offset or 0, value) for offset, value in self.accesses)


class InterruptWait(Request):
    """A wait for the next interrupt of a slot that is held."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"wait_s": 20}]})

    slot: _Slot = Field(default=None, description="Which; null for the lease's first one.")
    wait_s: float = Field(default=MAX_WAIT_S, ge=0, le=MAX_WAIT_S, description="Wall seconds to wait at most.")
