# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that ask for leases, extend them, and drive their slots."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from eddy.api.request_bodies.base import Request
from eddy.api.request_bodies.numbers import Whole
from eddy.board.port.port import MOST_ACCESSES, WINDOW_BYTES, RegisterAccess
from eddy.core.errors import InvalidRequest
from eddy.core.leases import (
    DEFAULT_S,
    LEAST_BYTES,
    LEAST_S,
    MOST_BYTES,
    MOST_S,
    LeaseKind,
    LeaseOptions,
)

MOST_WAIT_S = 30.0
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
        default=DEFAULT_S, ge=LEAST_S, le=MOST_S, description="Wall seconds that it lasts, from its beginning."
    )
    module: str = Field(
        default="", max_length=128, description="What its slot is loaded with at first; empty: nothing."
    )
    memory_bytes: Whole | None = Field(
        default=None,
        ge=LEAST_BYTES,
        le=MOST_BYTES,
        description="Board memory for its holder's buffers; null for 16 MiB, or half of what one tenant may have.",
    )

    def options(self) -> LeaseOptions:
        """As the engine takes them."""
        return LeaseOptions(LeaseKind(self.kind), self.lasts_s, self.module, self.memory_bytes or 0)


class LeaseExtension(Request):
    """More time for a lease."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"more_s": 900}]})

    more_s: float = Field(ge=1.0, le=MOST_S, description="Wall seconds that it lasts longer.")


class ModuleLoad(Request):
    """A module for a slot that is held."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"module": "dct"}]})

    module: str = Field(min_length=1, max_length=128, description="By its name.")
    slot: _Slot = Field(default=None, description="Which; null for the lease's first one.")
    wait_s: float = Field(default=MOST_WAIT_S, ge=0, le=MOST_WAIT_S, description="Wall seconds to wait for its end.")


class RegisterAccesses(Request):
    """Accesses of the registers of a slot that is held, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"accesses": [[16, 1], [0, None]]}]})

    accesses: list[_Access] = Field(
        default_factory=list,
        max_length=MOST_ACCESSES,
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
    wait_s: float = Field(default=MOST_WAIT_S, ge=0, le=MOST_WAIT_S, description="Wall seconds to wait at most.")
