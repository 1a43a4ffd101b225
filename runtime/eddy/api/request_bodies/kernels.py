# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The body that asks for a kernel: source, ND-range and arguments."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from eddy.api.request_bodies.base import SHA256, Request
from eddy.api.request_bodies.numbers import Whole, integral_number
from eddy.gpu.compilation.includes import MAX_FILES

_BASE64 = "^[A-Za-z0-9+/]*={0,2}$"
Sizes = Annotated[list[Annotated[Whole, Field(ge=0, le=1 << 31)]], Field(min_length=1, max_length=3)]


def _shown(name: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """The JSON schema of one form of an argument."""
    return {"type": "object", "title": name, "properties": properties, "required": required,
            "additionalProperties": False}  # fmt: skip


_NUMBER = {"type": ["number", "boolean"]}
_ARGUMENT_SCHEMA: dict[str, Any] = {
    "description": "One argument of a kernel.",
    "oneOf": [
        _shown(
            "Array",
            {
                "buffer": {"type": "string", "pattern": SHA256, "description": "sha256 of its bytes, in C order."},
                "dtype": {"type": "string", "pattern": "^[<|][iuf][1248]$", "description": "numpy's name."},
                "shape": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": (1 << 31) - 1},
                    "maxItems": 8,
                    "description": "Its shape.",
                },
            },
            ["buffer", "dtype", "shape"],
        ),
        _shown(
            "Value",
            {
                "value": {
                    "description": "A number, or the numbers of a vector; true and false are 1 and 0.",
                    "anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1, "maxItems": 16}],
                }
            },
            ["value"],
        ),
        _shown(
            "Local",
            {"local": {"type": "integer", "minimum": 1, "maximum": 1 << 31, "description": "Bytes of local memory."}},
            ["local"],
        ),
        _shown(
            "Record",
            {
                "bytes": {
                    "type": "string",
                    "maxLength": 8192,
                    "pattern": _BASE64,
                    "description": "A structure by value: its bytes in base 64.",
                }
            },
            ["bytes"],
        ),
        _shown("Null", {"null": {"type": "boolean", "enum": [True], "description": "A null pointer."}}, ["null"]),
        _shown(
            "Same",
            {
                "argument": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 63,
                    "description": "Place of an earlier argument, whose array this is too.",
                }
            },
            ["argument"],
        ),
    ],
}


def _whole_argument(value: dict[str, Any]) -> dict[str, Any]:
    """An argument whose whole numbers are integers; that of `value` is the kernel's affair."""
    found = {name: value[name] if name == "value" else integral_number(value[name]) for name in value}
    if isinstance(found.get("shape"), list):
        found["shape"] = [integral_number(length) for length in found["shape"]]
    return found


Argument = Annotated[dict[str, Any], AfterValidator(_whole_argument), WithJsonSchema(_ARGUMENT_SCHEMA)]


class KernelSubmission(Request):
    """An OpenCL C kernel over an ND-range; docs/reference/opencl.md has the language."""

    source: str = Field(min_length=1, description="OpenCL C.")
    kernel: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="Name of the kernel.")
    defines: dict[str, str] = Field(default_factory=dict, max_length=256, description="Macros, name to text.")
    includes: Annotated[dict[str, str], Field(max_length=MAX_FILES)] | Annotated[str, Field(pattern=_BASE64)] = Field(
        default_factory=dict,
        description="Headers, by the names the source includes them by: an object, or, where they are many, the same "
        "object deflated (zlib) in base 64.",
    )
    options: str = Field(
        default="",
        max_length=4096,
        description="Build options as `clBuildProgram` takes them: `-D`, `-I`, `-w`, `-Werror`, `-cl-...`.",
    )
    global_size: Sizes = Field(description="Work-items by dimension.")
    local_size: Sizes | None = Field(default=None, description="Work-group size; null for what suits the cluster.")
    offset: Sizes | None = Field(default=None, description="What `get_global_id` counts from; null for zeros.")
    arguments: list[Argument] = Field(
        default_factory=list,
        max_length=64,
        description='In the kernel\'s order: `{"buffer": sha256, "dtype": "<f4", "shape": [n]}`, `{"value": number}`, '
        '`{"value": [numbers]}` for a vector, `{"bytes": base64}` for a structure, '
        '`{"local": bytes}`, `{"null": true}`, `{"argument": place}` for the '
        "array of an earlier one.",
    )
