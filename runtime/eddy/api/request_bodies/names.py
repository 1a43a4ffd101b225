# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Labels, and what tenants are called, as bodies and addresses bring them: in any script, and kept in one form.

What the forms are is said by `eddy.core.names`; no pattern that JSON Schema knows says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from eddy.core import names
from eddy.core.submission_options import MAX_LABELS

T = TypeVar("T")


def _of_form(form: Callable[[str], T], words: str) -> AfterValidator:
    """Takes texts of a form, in the form in which they are kept."""

    def check(text: str) -> T:
        try:
            return form(text)
        except ValueError as failure:
            raise PydanticCustomError("form", "{words}", {"words": str(failure), "allowed": words}) from None

    return AfterValidator(check)


def _text(most: int, least: int, description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "minLength": least, "maxLength": most, "description": description})


def _distinct(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Labels whose names are different also in the form in which they are kept."""
    found = handler(value)
    if isinstance(value, dict) and len(found) != len(value):
        message = "has two names that are one in Unicode's composed form (NFC)"
        raise PydanticCustomError("distinct", "{message}", {"message": message, "allowed": "each name once"})
    return found


_Name = Annotated[
    str, _of_form(names.label_name, names.NAME_WORDS), _text(names.MAX_NAME, 1, f"A name: {names.NAME_WORDS}.")
]
_Value = Annotated[
    str, _of_form(names.label_value, names.TEXT_WORDS), _text(names.MAX_VALUE, 0, f"A value: {names.TEXT_WORDS}.")
]
Labels = Annotated[dict[_Name, _Value], Field(max_length=MAX_LABELS), WrapValidator(_distinct)]
Label = Annotated[
    str,
    _of_form(lambda text: "=".join(names.label_pair(text)), "NAME=VALUE"),
    _text(names.MAX_NAME + 1 + names.MAX_VALUE, 2, "A label as `name=value`."),
]
DisplayName = Annotated[
    str,
    _of_form(names.label_value, names.TEXT_WORDS),
    _text(names.MAX_VALUE, 0, f"What it is called, in any script; {names.TEXT_WORDS}."),
]
