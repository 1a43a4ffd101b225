# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Plain options of a submission as fields of models: of what comes in, and of what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, create_model
from pydantic_core import PydanticCustomError

from eddy.api.request_bodies.numbers import Whole
from eddy.core.submission_options import Option


def with_options(model: type[BaseModel], options: Mapping[str, Option], answer: bool = False) -> type[Any]:
    """A model with a field more for each option, as a body has it, or as an answer does."""
    field = _answer_field if answer else _body_field
    made: dict[str, Any] = {name: (_annotation(option), field(option)) for name, option in options.items()}
    return create_model(
        model.__name__.lstrip("_"), __base__=model, __module__=model.__module__, __doc__=model.__doc__, **made
    )


def _annotation(option: Option) -> Any:
    kind: Any = option.type
    if option.choices and kind is str:
        kind = Literal[option.choices]
    elif kind is int:
        kind = Whole
    if option.choices and kind is Whole:
        kind = Annotated[Whole, AfterValidator(_one_of(option.choices)), Field(json_schema_extra=_enum(option))]
    return kind | None if option.default is None else kind


def _body_field(option: Option) -> Any:
    said: dict[str, Any] = {**option.bounds, **({"allow_inf_nan": False} if option.type is float else {})}
    return Field(default=option.default, description=option.description, **said)


def _answer_field(option: Option) -> Any:
    return Field(description=option.shown or option.description)


def _enum(option: Option) -> dict[str, Any]:
    return {"enum": list(option.choices)}


def _one_of(choices: tuple[Any, ...]) -> Any:
    def check(value: Any) -> Any:
        if value not in choices:
            text = ", ".join(map(str, choices))
            raise PydanticCustomError("one_of", f"must be one of {text}", {"allowed": list(choices)})
        return value

    return check
