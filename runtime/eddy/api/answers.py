"""The base of what goes out over HTTP."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid")


def shown(example: dict[str, Any]) -> ConfigDict:
    """The configuration of an answer with an example."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": [example]})
