# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers of the OpenCL standard, from the header that the library is compiled with."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources

_DEFINE = re.compile(r"^#define (CL_\w+) \(?(-?\w+)\)?$", re.M)


@functools.cache
def numbers() -> Mapping[str, int]:
    """Name to number of everything in `native/cl.h`."""
    text = resources.files("eddy.opencl").joinpath("native").joinpath("cl.h").read_text(encoding="utf-8")
    return {name: int(number, 0) for name, number in _DEFINE.findall(text)}


def number(name: str) -> int:
    """The number of a name of the standard's.

    Raises:
        KeyError: The platform does not use it.
    """
    return numbers()[name]
