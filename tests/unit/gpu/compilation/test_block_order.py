# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Blocks lie behind all that lead to them, loops in one piece, and a function does what it did."""

from __future__ import annotations

import random
import re

import pytest
from eddy.gpu.compilation import compiler as module
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.work_items.block_order import block_order, with_block_order
from eddy.gpu.workloads import WORKLOADS
from unit.gpu_kit import cluster, compiler

OPPOSITE = {"beqz": "bnez", "bnez": "beqz"}
Graph = dict[int, tuple[str, ...]]


def assembly(graph: Graph) -> str:
    """A function of blocks that each count their number: "ret", ("j", k), or a branch to k and what lies behind."""
    lines = ["f:                                      # @f", "# %bb.0:"]
    for k, end in graph.items():
        lines += [f".LBB0_{k}:                                # %b"] if k else []
        lines += [f"\taddi\ta0, a0, {k}", "\t#APP", "1:\tmv\ta1, a1", "\t#NO_APP"]
        lines += [f"\t{end[0]}\t" + ("a1, " if end[0] in OPPOSITE else "") + f".LBB0_{end[1]}"] if end[1:] else []
        lines += ["\tret"] if end[0] == "ret" else []
    return "\n".join([*lines, ".Lfunc_end0:", "\t.size\tf, .Lfunc_end0-f", ""])


def steps(text: str, decisions: int) -> list[int]:
    """Numbers of the blocks a function comes to where each branch is taken as the next bit says."""
    lines = [line.partition(" #")[0].rstrip() for line in text.split("\n")]
    at, found, asked = lines.index("f:"), list[int](), 0
    while len(found) < 40:
        at += 1
        line = lines[at]
        if number := re.match(r"\taddi\ta0, a0, (\d+)", line):
            found.append(int(number[1]))
        elif jump := re.match(r"\t(j|beqz|bnez)\t(?:a1, )?(\S+)", line):
            zero = decisions >> asked & 1
            asked += jump[1] != "j"
            if jump[1] == "j" or (jump[1] == "beqz") == bool(zero):
                at = lines.index(f"{jump[2]}:")
        elif line == "\tret":
            break
    return found


def drawn(rng: random.Random, blocks: int) -> Graph:
    graph: Graph = {}
    for k in range(blocks - 1):
        kind = rng.choice(["j", "beqz", "bnez", "bnez", "ret", ""])
        graph[k] = (kind, str(rng.randrange(1, blocks))) if kind not in ("", "ret") else (kind,)
    return {**graph, blocks - 1: ("ret",)}


@pytest.mark.parametrize("seed", range(60))
def test_a_function_does_what_it_did(seed: int) -> None:
    rng = random.Random(seed)
    before = assembly(drawn(rng, rng.randrange(2, 14)))
    after = with_block_order(before)
    for _ in range(20):
        decisions = rng.getrandbits(64)
        assert steps(after, decisions) == steps(before, decisions)
    assert with_block_order(after) == after


def test_where_ways_meet_lies_behind_them_and_loops_are_in_one_piece() -> None:
    # 1 is a loop's head; 5 is one of its ways, which leads back into 2; 4 is behind the loop.
    assert block_order([[1], [2, 5], [3], [1, 4], [], [2]]) == [0, 1, 5, 2, 3, 4]
    # An inner loop of 2 and 6 that lies in two pieces.
    assert block_order([[1], [2], [6, 3], [1, 5], [], [4], [2]]) == [0, 1, 2, 6, 3, 5, 4]
    # Circles with two ways in stay as they are.
    assert block_order([[1, 2], [2], [1, 3], []]) == [0, 1, 2, 3]


@pytest.mark.parametrize("line", ["\t.word\t7", "\t#APP\n\tj\t.LBB0_1\n\t#NO_APP", "\tbeqz\ta0, .LBB0_9"])
def test_what_is_not_understood_stays(line: str) -> None:
    text = assembly({0: ("j", "2"), 1: ("ret",), 2: ("j", "1"), 3: ("ret",)})
    assert with_block_order(text) != text
    odd = text.replace("\taddi\ta0, a0, 2", line)
    assert with_block_order(odd) == odd


def test_lanes_that_part_meet_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    work = WORKLOADS["divergent"]()
    (step,) = work.steps
    issued = []
    for order in (with_block_order, lambda text: text):
        monkeypatch.setattr(module, "with_block_order", order)
        made = compiler()._compile(complete(work.text(), work.defines), True, "", toolchain.SINGLE)
        buffers = {name: array.copy() for name, array in work.buffers.items()}
        arguments = [buffers[a] if isinstance(a, str) else a for a in step.arguments]
        done = launch(cluster(ClusterShape(1, 4, 4)), made, step.kernel, step.global_size, arguments)
        issued.append(sum(core.instructions for core in done.counters))
    assert issued[0] < 0.8 * issued[1]
