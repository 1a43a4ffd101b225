# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Products that are added to at once, where a source or its options allow it: rounded once on every cluster.

clang marks them (`llvm.fmuladd`), and the code generator fuses them where a core has an instruction for that, so that
cores with an FPU would give other bits than those without. As `llvm.fma` they are fused on both.
"""

from __future__ import annotations

import re

CONTRACT = "-ffp-contract=on"
"""Flag of the front end: products within an expression are marked. `#pragma OPENCL FP_CONTRACT ON` does it without."""
_MARKED = re.compile(r"@llvm\.fmuladd\.((?:v\d+)?f32)\(")


def with_fused_products(ir: str) -> str:
    """A module in which every product of single precision that may be fused is.

    Args:
        ir: LLVM IR as the front end leaves it.
    """
    for kind in sorted(set(_MARKED.findall(ir))):
        if re.search(rf"^declare [^\n]*@llvm\.fma\.{kind}\(", ir, re.M):
            ir = re.sub(rf"^declare [^\n]*@llvm\.fmuladd\.{kind}\([^\n]*\n", "", ir, flags=re.M)
    return _MARKED.sub(r"@llvm.fma.\1(", ir)
