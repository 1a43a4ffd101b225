# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The body that registers an application: its buffers, tasks and edges."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import IDENTIFIER, MAX_ITEMS, Request
from eddy.api.request_bodies.numbers import Whole
from eddy.packages.applications import DTYPES, MAX_BUFFER_BYTES


class BufferSubmission(Request):
    """A named buffer of an application."""

    role: Literal["input", "output", "intermediate", "constant", "update"] = Field(
        description="Filled from a submission, handed back, between tasks, one for all items, or both of the first two."
    )
    dtype: str = Field(pattern=f"^({'|'.join(DTYPES)})$", description="numpy's name of an element.")
    shape: list[Annotated[Whole, Field(ge=1, le=MAX_BUFFER_BYTES)]] = Field(
        max_length=8, description="Shape of one item's array."
    )
    picture: bool = Field(
        default=False, description="Whether it is a tile of a picture in grey levels: `u1`, of two dimensions."
    )


class TaskSubmission(Request):
    """One task of an application: a module, and what its registers are given."""

    name: str = Field(pattern=IDENTIFIER, description="Unique in the application.")
    module: str | None = Field(default=None, pattern=IDENTIFIER, description="Module; null for one of the task's name.")
    arguments: dict[str, str | Whole] = Field(
        default_factory=dict, max_length=256, description="Register of the module to a buffer's name, or a number."
    )
    estimate_us: float = Field(gt=0, le=1e12, description="Expected board time of an item, in microseconds.")
    time_limit_ms: float = Field(gt=0, le=1e9, description="Board milliseconds after which an item is stopped.")


class FusedSubmission(TaskSubmission):
    """A module that does what several tasks do, in their place where a job ends earlier so."""

    covers: list[Annotated[str, Field(pattern=IDENTIFIER)]] = Field(
        min_length=2, max_length=256, description="The tasks it stands for, first to last."
    )


class AppSubmission(Request):
    """A task graph over the modules that are there; the form of `bitstreams/applications/*.yaml`, as JSON."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.APPLICATION]})

    application: str = Field(pattern=IDENTIFIER, description="Its name.")
    summary: str = Field(default="", max_length=1000, description="A description.")
    max_batch: Whole = Field(default=30, ge=1, le=MAX_ITEMS, description="Most items of a job.")
    goal_slots: Whole = Field(default=3, ge=1, le=64, description="Slots beyond which it gets no faster.")
    goals: dict[Annotated[str, Field(pattern=r"^[0-9]{1,7}$")], Annotated[Whole, Field(ge=1, le=64)]] = Field(
        default_factory=dict, max_length=64, description="The same by batch, where it was measured."
    )
    buffers: dict[Annotated[str, Field(pattern=IDENTIFIER)], BufferSubmission] = Field(
        max_length=512, description="Buffers by name."
    )
    tasks: list[TaskSubmission] = Field(min_length=1, max_length=256, description="Tasks, in any order.")
    edges: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, max_length=4096, description="Pairs of tasks: the second needs the first's item."
    )
    fused: list[FusedSubmission] = Field(
        default_factory=list, max_length=256, description="Modules that do what several tasks do."
    )
    signature: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{128}$",
        description="Ed25519 signature, as `eddy app sign` makes it; needed where the server has a trust store.",
    )

    def package(self) -> dict[str, Any]:
        """As `eddy.packages.catalogue.CatalogueInForce.add` reads it, without what was left out."""
        raw = self.model_dump(exclude_unset=True)
        if raw.get("signature") is None:
            raw.pop("signature", None)
        for task in (*raw["tasks"], *raw.get("fused", ())):
            if task.get("module") is None:
                task.pop("module", None)
        return raw
