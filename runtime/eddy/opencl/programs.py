# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs of a context: built, compiled or linked from units."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from eddy.core.errors import CompilationFailed, EddyError, InvalidRequest
from eddy.gpu.programs.shape import ClusterShape
from eddy.opencl.host_headers import relative, with_headers
from eddy.opencl.kernels import describe_kernels
from eddy.opencl.session_port import Session
from eddy.opencl.standard import number
from eddy.opencl.units import LINK_OPTIONS, DifferentHeaders, SourceUnit, join_units, with_extensions
from eddy.opencl.wire import text

_NO_KERNEL = "the source has no kernel"
_UNDEFINED = "undefined symbol: "
_NOTHING = (0).to_bytes(4, "little")


class Mode(enum.IntEnum):
    """What is asked of a program."""

    BUILD = 0
    COMPILE = 1
    LINK = 2


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it.

    Attributes:
        code: The standard's.
        message: For the platform's log.
        log: The build log.
        kernels: As the library reads them; empty where it failed.
        program: The session's; None where it failed or has no kernel.
        unit: What it was built from, with the headers that were found; empty for what the library has.
    """

    code: int
    message: str = ""
    log: str = ""
    kernels: bytes = _NOTHING
    program: Any = None
    unit: bytes = b""

    def payload(self) -> bytes:
        """What goes behind code and message of the answer."""
        return text(self.log) + self.kernels + text(self.unit)


def build_program(
    session: Session, shape: ClusterShape, mode: Mode, options: str, units: Sequence[SourceUnit]
) -> Built:
    """A program of units.

    Args:
        session: Compiles.
        shape: Of the clusters.
        mode: With `COMPILE` functions may be missing, as others may bring them.
        options: Of the linker, with `LINK`.
        units: What it is made of.
    """
    wrong = _wrong_link_options(options) if mode is Mode.LINK else ""
    if wrong:
        return Built(
            number("CL_INVALID_BUILD_OPTIONS"), f"{wrong} is no option of the linker", f"unknown option {wrong}"
        )
    try:
        unit = join_units(units)
        unit = replace(unit, source=relative(unit.source))
        given_options, headers = with_headers(unit.source, unit.options, unit.headers)
    except DifferentHeaders as error:
        return Built(number("CL_BUILD_PROGRAM_FAILURE"), str(error), str(error))
    except ValueError as error:  # quotes that do not end
        return Built(number("CL_INVALID_BUILD_OPTIONS"), str(error), str(error))
    built = _build(session, shape, mode, SourceUnit(given_options, unit.source, headers))
    return replace(built, unit=replace(unit, headers=headers).encode()) if len(units) == 1 else built


def _build(session: Session, shape: ClusterShape, mode: Mode, unit: SourceUnit) -> Built:
    try:
        program = session.program(unit.source, with_extensions(unit.options), unit.headers)
    except CompilationFailed as error:
        return _refused(mode, error.message)
    except InvalidRequest as error:
        return Built(number("CL_INVALID_BUILD_OPTIONS"), str(error), str(error))
    except EddyError as error:
        return Built(number("CL_BUILD_PROGRAM_FAILURE"), error.message, error.message)
    kernels = describe_kernels(program.kernels, unit.source, shape, program.local_bytes)
    return Built(number("CL_SUCCESS"), "", program.build_log, kernels, program)


def _refused(mode: Mode, said: str) -> Built:
    """A refusal, unless the compiler only misses what need not be there."""
    if _NO_KERNEL in said or (mode is Mode.COMPILE and _UNDEFINED in said):
        return Built(number("CL_SUCCESS"))
    return Built(number("CL_BUILD_PROGRAM_FAILURE"), said.partition("\n")[0], said)


def _wrong_link_options(options: str) -> str:
    return next((word for word in shlex.split(options) if word not in LINK_OPTIONS), "")
