# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The bodies that make and change projects."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from eddy.api.request_bodies.base import NAME, Request
from eddy.core.tenants import MAX_WEIGHT, MIN_WEIGHT

MAX_MEMBERS = 1000
"""Tenants that a request names at most."""
_Tenants = Annotated[list[Annotated[str, StringConstraints(pattern=NAME)]], Field(max_length=MAX_MEMBERS)]


class ProjectSubmission(Request):
    """A new project."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "vision", "share": 2.0, "members": ["ada"]}]})

    id: str = Field(pattern=NAME, description="Its name: letters, digits, `_`, `.` and `-`, a letter first.")
    share: float = Field(
        default=1.0, ge=MIN_WEIGHT, le=MAX_WEIGHT, description="Its weight among projects and tenants without one."
    )
    members: _Tenants = Field(default_factory=list, description="Names of its tenants.")


class ProjectChange(Request):
    """What changes of a project, at once; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"share": 3.0, "add": ["grace"], "drop": ["ada"]}]})

    share: float | None = Field(default=None, ge=MIN_WEIGHT, le=MAX_WEIGHT, description="Its weight; null stays.")
    add: _Tenants = Field(default_factory=list, description="Tenants that come to it.")
    drop: _Tenants = Field(default_factory=list, description="Tenants that leave it.")
