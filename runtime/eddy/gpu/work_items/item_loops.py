# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Work-items of a lane as loops between barriers, for groups larger than a core, where a kernel's barriers are regular.

Such a kernel is compiled twice, instead of once for fibers: for one item a lane, where a barrier is one instruction,
and with a loop over the lane's items around what lies between two barriers (`eddy.gpu.work_items.looped_kernel`). What
all items have in common stays in registers; what an item has of its own over a barrier lies in a row of words for all
lanes, as what fibers keep does; what follows from its id by a few operations is computed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from eddy.gpu.programs.ir_function import BARRIER, IrregularFunction, functions
from eddy.gpu.programs.ir_types import named_types
from eddy.gpu.work_items.ir_pieces import BAR, BODY, ITEMS, LOOP, ONCE, TAG, bases, called_as
from eddy.gpu.work_items.item_pairs import function_body, stack_reloads
from eddy.gpu.work_items.item_parameter import LOOP_STUB, STUB
from eddy.gpu.work_items.local_placement import PlacedFunction, local_variables, place_locals
from eddy.gpu.work_items.loop_plan import LoopPlan
from eddy.gpu.work_items.looped_kernel import looped_kernel
from eddy.gpu.work_items.uniform import IrModule

MAX_RELOADS = 16
"""Loads of what registers had no room for, beyond which loops over items are not worth what they save."""


@dataclass(slots=True)
class LoopModule:
    """A module with such kernels.

    Attributes:
        ir: Its text.
        words: By kernel, the words of a row that an item of it keeps.
        placed: Those whose `__local` variables each work-group has for itself.
        plans: Those kernels.
    """

    ir: str
    words: dict[str, int] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    plans: dict[str, LoopPlan] = field(default_factory=dict)


def with_item_loops(ir: str, kernels: Iterable[str]) -> LoopModule:
    """A module in which kernels with regular barriers are loops over items.

    Args:
        ir: LLVM IR as the front end leaves it.
        kernels: Names of those whose items wait for each other.
    """
    texts, named = functions(ir), named_types(ir)
    module, variables = IrModule(texts), local_variables(ir)
    made = LoopModule(ir)
    for kernel in kernels:
        text, stub = texts.get(f"{BODY}{kernel}", ""), texts[f"{STUB}{kernel}"]
        elsewhere = set().union(
            *(variables & module.referenced_names(name) for name in module.called(f"{BODY}{kernel}"))
        )
        own = None if elsewhere else place_locals(text, variables)
        own, made_placed = own or PlacedFunction(text, {}), own is not None
        try:
            plan = LoopPlan(own, module, named)
        except IrregularFunction:
            continue
        body = looped_kernel(kernel, plan)
        once = _once(called_as(own.text, kernel, ONCE), own)
        if made_placed:
            made.placed.add(kernel)
        made.ir = made.ir.replace(stub, called_as(stub, kernel, ONCE))
        second = called_as(stub, kernel, ITEMS).replace(f"@{STUB}{kernel}(", f"@{LOOP_STUB}{kernel}(", 1)
        made.ir += f"\n{once}\n{body}\n{second}"
        made.words[kernel] = plan.words
        made.plans[kernel] = plan
    if made.words:
        made.ir = with_nodes(made.ir)
    return made


def has_register_pressure(assembly: str, kernel: str) -> bool:
    """Whether a kernel's loops over items have more values than there are registers, so that they are slower than one
    item a lane where that can be.

    Args:
        assembly: The compiler's.
        kernel: Its name.
    """
    loops, once = (stack_reloads(function_body(assembly, stub + kernel)) for stub in (LOOP_STUB, STUB))
    return loops - once > MAX_RELOADS


def _once(text: str, own: PlacedFunction) -> str:
    """A kernel's function for lanes with one item each."""
    lines = [BAR.format(n=k) if BARRIER.match(line) else line for k, line in enumerate(text.split("\n"))]
    at = lines.index("entry:") + 1
    return "\n".join([*lines[:at], *bases(own), *lines[at:]])


def with_nodes(ir: str) -> str:
    """A module whose loops over items say how they and their rows are to be understood."""
    return _with_loops(_with_tag(ir))


def _with_tag(ir: str) -> str:
    """A module in which accesses to rows are known to be apart from typed ones."""
    base = re.search(r'^(!\d+) = !\{!"omnipotent char", ', ir, re.M)
    at = re.compile(rf", !tbaa {TAG}$", re.M)
    if not base:
        return at.sub("", ir)
    number = _free(ir)
    nodes = f'!{number} = !{{!{number + 1}, !{number + 1}, i64 0}}\n!{number + 1} = !{{!"row", {base[1]}, i64 0}}\n'
    return at.sub(f", !tbaa !{number}", ir) + nodes


def _with_loops(ir: str) -> str:
    """A module whose loops over items are not unrolled: several items in a round are longer than a branch costs."""
    number = iter(range(_free(ir), len(ir)))
    off = next(number)
    nodes = [f'!{off} = !{{!"llvm.loop.unroll.disable"}}']

    def one(_: re.Match[str]) -> str:
        own = next(number)
        nodes.append(f"!{own} = distinct !{{!{own}, !{off}}}")
        return f"!{own}\n"

    return re.sub(rf"(?<=!llvm\.loop ){LOOP}\n", one, ir) + "\n".join(nodes) + "\n"


def _free(ir: str) -> int:
    """A number that no node of a module has, nor any above it."""
    return max(map(int, re.findall(r"^!(\d+) = ", ir, re.M))) + 1
