# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How functions are called that take more than registers hold.

LLVM lets functions of one module call each other in a way of its own (`fastcc`), with twelve words in registers. The
twelfth is t6, which holds the work-item's local id here, so the code generator refuses a call that wants it. Such a
module is generated once more with the standard calls of RISC-V: eight words in registers, the rest on the stack.
"""

from __future__ import annotations

import re

RESERVED = "Argument register required, but has been reserved"
"""How the code generator refuses a call that wants t6."""
_FAST = re.compile(
    r"^(define (?:[a-z_]+ )*?|\s+(?:%(?:[\w.$-]+|\"[^\"\n]*\") = )?(?:[a-z]+ )?call (?:[a-z]+ )*?)fastcc ", re.M
)


def with_standard_calls(ir: str) -> str:
    """An optimized module whose functions are called as the standard has it.

    Args:
        ir: LLVM IR; a definition and a call are a line each, with nothing but words between their first and `fastcc`.
    """
    return _FAST.sub(r"\1", ir)
