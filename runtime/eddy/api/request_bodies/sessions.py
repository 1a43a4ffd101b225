# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that open sessions, build programs for them and feed them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from eddy.api.request_bodies.base import Request
from eddy.api.request_bodies.numbers import Whole
from eddy.api.request_bodies.strict_json import parse
from eddy.core.errors import InvalidRequest
from eddy.core.frames import split_frame
from eddy.core.sessions import (
    DEFAULT_BYTES,
    DEFAULT_IDLE_S,
    MAX_BYTES,
    MAX_IDLE_S,
    MIN_BYTES,
    OnPressure,
    SessionOptions,
)
from eddy.gpu.compilation.includes import MAX_FILES
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.engine.session_service import Batch
from eddy.hypervisor.sessions.commands import MAX_NUMBER, parse_commands

MAX_WAIT_S = 30.0


class SessionSubmission(Request):
    """A session to be opened."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"memory_bytes": 33554432, "idle_timeout_s": 60}]})

    memory_bytes: Whole = Field(
        default=DEFAULT_BYTES,
        ge=MIN_BYTES,
        le=MAX_BYTES,
        description="Board memory it has: for its buffers, its programs and their stacks.",
    )
    idle_timeout_s: float = Field(
        default=DEFAULT_IDLE_S,
        gt=0,
        le=MAX_IDLE_S,
        description="Wall seconds without a command, and without one under way, after which it is closed.",
    )
    on_pressure: Literal["spill", "refuse"] = Field(
        default="spill",
        description="While nobody uses it and others wait for memory: `spill` it to the disk, or keep it (`refuse`).",
    )
    out_of_order: bool = Field(
        default=False, description="Whether `after` and barriers alone order commands; else each follows the last."
    )
    priority: Literal[1, 3, 9] = Field(default=1, description="Of your own work, higher comes first.")

    lease_s: float | None = Field(
        default=None,
        gt=0,
        le=MAX_IDLE_S,
        description="Wall seconds without a batch, which may be empty, after which it is closed, whatever is under "
        "way: its client is gone. `null` for never.",
    )

    def options(self) -> SessionOptions:
        """As the engine takes them."""
        on_pressure = OnPressure(self.on_pressure)
        return SessionOptions(
            self.memory_bytes, self.idle_timeout_s, on_pressure, self.out_of_order, self.priority, self.lease_s
        )


class ProgramSubmission(Request):
    """A source to be built for a session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "kernel void one(global int *x) { x[get_global_id(0)] = 1; }"}]}
    )

    source: str = Field(min_length=1, description="OpenCL C.")
    defines: dict[str, str] = Field(default_factory=dict, max_length=256, description="Macros, name to text.")
    includes: Annotated[dict[str, str], Field(max_length=MAX_FILES)] = Field(
        default_factory=dict, description="Headers, by the names the source includes them by."
    )
    options: str = Field(
        default="",
        max_length=4096,
        description="Build options as `clBuildProgram` takes them: `-D`, `-I`, `-w`, `-Werror`, `-cl-...`.",
    )

    def kernel_request(self) -> KernelRequest:
        """As the compiler takes it."""
        defines, includes = self.defines, self.includes
        return KernelRequest(self.source, "", (1,), (), defines=defines, includes=includes, options=self.options)


class BatchHead(Request):
    """What a batch says before its bytes."""

    commands: list[dict[str, Any]] = Field(default_factory=list)
    life: str = Field(default="", max_length=64)
    known: Whole = Field(default=0, ge=0, le=MAX_NUMBER)
    until: Whole = Field(default=0, ge=0, le=MAX_NUMBER)
    wait_s: float = Field(default=0.0, ge=0, le=MAX_WAIT_S)


def parse_batch(body: bytes) -> Batch:
    """A batch, from the frame it came in.

    Raises:
        InvalidRequest: It is none; says which field is wrong.
    """
    head, payload = split_frame(body)
    try:
        found = BatchHead.model_validate(parse(head))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"Field {field}: {first['msg']}.", field=field) from None
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"The head is not JSON: {error}.", field="body") from None
    commands = parse_commands(found.commands, payload)
    return Batch(commands, found.life, found.known, found.until, found.wait_s)
