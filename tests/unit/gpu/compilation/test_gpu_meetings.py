# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who meets whom in a subgroup: random programs against an interpreter, and places in the front end's text."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.work_items.rounds import with_rounds
from unit.gpu_kit import cluster, compiled, compiler
from unit.subgroup_programs import FORMS, Maker, Tree, run, text_of

LIMIT = 3_000_000
"""Cycles; items that wait for each other in vain would take the day otherwise."""


def wanted(functions: Tree, x: np.ndarray[tuple[int], np.dtype[np.uint32]], group: int, lanes: int) -> list[int]:
    """What the interpreter says, subgroup by subgroup."""
    told: list[int] = []
    for first in range(0, len(x), group):
        for at in range(first, first + group, lanes):
            items = x[at : min(at + lanes, first + group)].tolist()
            ended = run(functions, dict(enumerate(items)))
            told += [ended[item] for item in range(len(items))]
    return told


@pytest.mark.parametrize("seed", range(2, 6))
def test_items_meet_those_of_their_branch_and_round(seed: int) -> None:
    """On lanes that take one item or several, with a subgroup that is not full, whatever order the lanes go in."""
    kernels = [Maker(100 * seed + k).kernel() for k in range(6)]
    program = compiler().compile("\n".join(text_of(f"p{k}", kernel) for k, kernel in enumerate(kernels)))
    x = np.random.default_rng(seed).integers(0, 1 << 32, 56, dtype="u4")
    for k, kernel in enumerate(kernels):
        for lanes, group, order in ((4, 8, 0), (16, 28, 1), (4, 14, 2)):
            out = np.zeros_like(x)
            on = cluster(ClusterShape(1, 2, lanes), seed=order)
            launch(on, program, f"p{k}", (56,), [out, x], local_size=(group,), limit=LIMIT)
            assert out.tolist() == wanted(kernel, x, group, lanes), f"p{k}, {lanes} lanes, groups of {group}"


def test_every_form_by_hand() -> None:
    """Of four items with 0, 1, 2 and 2 rounds."""
    x, out = np.array([0, 1, 2, 2], "i4"), np.zeros((4, 8), "i4")
    launch(cluster(ClusterShape(1, 1, 4)), compiled(FORMS), "forms", (4,), [out, x], local_size=(4,), limit=LIMIT)
    same = [1, 1, 2, 2]
    assert out[:, 0].tolist() == same, "who leaves a loop by a place of its own meets those of its round"
    assert out[:, 1].tolist() == [4] * 4, "behind a loop all meet"
    assert out[:, 2].tolist() == same, "and so out of a function"
    assert out[:, 3].tolist() == [124, 24, 4, 4]
    assert out[:, 4].tolist() == [4, 4, 24, 24]
    assert out[:, 5].tolist() == [21, 20, 200, 200]
    # Three begin: 3, which is odd, and 300 more. Two go on from 606: 608 is even, and more than 6.
    assert out[:, 6].tolist() == [0, 606, 1216, 1216]
    assert out[:, 7].tolist() == [0, 1, 1, 1]


def loop(body: str, back: str) -> str:
    """A function's text with a loop of which `body` is the last block, to which `back` leads too."""
    return (
        "define void @f(i32 %n) {\nentry:\n  br label %for.cond\n\n"
        "for.cond:\n  br i1 %a, label %for.body, label %for.end\n\n"
        f"for.body:\n  br i1 %b, label %if.then, label %{back}\n\nif.then:\n{body}"
        "  br label %for.inc\n\nfor.inc:\n  br label %for.cond, !llvm.loop !7\n\nfor.end:\n  ret void\n}\n"
    )


def test_a_round_ends_in_a_meeting_where_it_does_not_anyway() -> None:
    call = "  call void @one(i32 1)\n"
    plain = loop(call, "if.then")
    assert with_rounds(plain, {"one"}, {"one"}) == plain, "all come to it in each round"
    meets = (
        "eddy.round1:\n  %eddy.round1.met = call i32 @_ZL9eddy_meetv()\n  br label %for.cond, !llvm.loop !7\n\nfor.end:"
    )
    for text, once in (
        (plain, set()),
        (loop(call, "for.inc"), {"one"}),
        (loop("", "for.inc").replace("entry:\n", "entry:\n" + call), {"one"}),
    ):
        changed = with_rounds(text, {"one"}, once)
        assert (meets in changed) == (call in text.partition("for.cond:")[2])
        assert (changed == text) == (meets not in changed)
