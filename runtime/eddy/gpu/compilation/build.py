# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A program as `clBuildProgram` makes it: a source, headers of its own, and a line of options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eddy.core.errors import CompilationFailed
from eddy.gpu.compilation import build_options
from eddy.gpu.compilation.compiler import MAX_SOURCE_BYTES, Compiler, diagnostics
from eddy.gpu.compilation.includes import Headers
from eddy.gpu.compilation.local_scope import hoist_declarations
from eddy.gpu.compilation.sandbox import shared_process
from eddy.gpu.programs.program import Program


@shared_process()
def build(
    compiler: Compiler,
    source: str,
    *,
    fpu: bool = True,
    defines: Mapping[str, object] | None = None,
    includes: Mapping[str, str] | None = None,
    options: str = "",
    owner: str = "",
) -> Program:
    """The program of a source with its headers.

    Args:
        compiler: With which.
        source: OpenCL C 1.2; messages call it `kernel.cl`.
        fpu: For cores with an FPU.
        defines: Macros; they come before those of the options.
        includes: Headers by the names the source includes them by; there are no others.
        options: As `clBuildProgram` takes them: `-D`, `-I`, `-w`, `-Werror`, `-cl-...`.
        owner: For whom; as `Compiler.compile` has it.

    Raises:
        InvalidRequest: A macro, header or option is not possible; the message names it.
        EddyError: As `Compiler.compile`.
    """
    asked = build_options.parse(options)
    macros = {**asked.defines, **(defines or {})}
    headers = Headers(includes or {}, asked.folders, MAX_SOURCE_BYTES)
    whole = headers.expand_includes(source, lambda text: compiler.preprocessed(text, fpu=fpu, defines=macros))

    def compiled(text: str) -> Program:
        how = {"single_constants": asked.single_constants, "contract": asked.contract, "later": asked.later}
        return compiler.compile(text, fpu=fpu, defines=macros, owner=owner, **how)

    try:
        program = compiled(whole)
    except CompilationFailed as error:
        again = hoist_declarations(whole, error.message)
        if again is None:
            raise
        program = compiled(again)
    if asked.warnings == "errors" and program.warnings:
        message = program.warnings.replace(": warning: ", ": error: ")
        raise CompilationFailed(message, diagnostics=diagnostics(message))
    return replace(program, warnings="") if asked.warnings == "none" else program
