# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whole numbers as they come in: in JSON, where 2165.0 is one, and in addresses and headers, where only digits are."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_DIGITS = re.compile(r"0|[1-9][0-9]*")
_MAX_DIGITS = 20
"""More than any number that is asked for has."""


def integral_number(value: Any) -> Any:
    """A number without a fraction as an integer, as JSON Schema counts it; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _decimal(value: Any) -> Any:
    """Digits as a number.

    Raises:
        PydanticCustomError: Something else is there: a sign, a space, an underscore, a leading zero.
    """
    if not isinstance(value, str):
        return value
    if not _DIGITS.fullmatch(value) or len(value) > _MAX_DIGITS:
        allowed = f"a whole number of at most {_MAX_DIGITS} digits, without sign or leading zeros"
        raise PydanticCustomError("decimal", "must be {allowed}", {"allowed": allowed})
    return int(value)


Whole = Annotated[int, BeforeValidator(integral_number)]
"""An integer of a JSON body."""
Decimal = Annotated[int, BeforeValidator(_decimal)]
"""An integer of an address, a query or a header."""
