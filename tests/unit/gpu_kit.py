# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of kernels share: one compiler with a cache under build/, clusters of the instruction-set model."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu import cluster as rtl
from eddy_sim.gpu.cluster_build import Shape, build_cluster
from eddy_sim.gpu.executors import IsaExecutor

CACHE = Path(__file__).resolve().parents[2] / "build" / "kernels"
SHAPES = (ClusterShape(1, 1, 1), ClusterShape(2, 4, 4), ClusterShape(3, 2, 8), ClusterShape(1, 3, 5))


def compiler() -> Compiler:
    """The compiler all tests share."""
    return Compiler(CACHE)


@functools.cache
def compiled(source: str, fpu: bool = True) -> Program:
    """A program, compiled once."""
    return compiler().compile(source, fpu=fpu)


def build_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build RTL clusters without optimising, for kernels that run for less time than that takes."""

    def build(shape: Shape, **how: Any) -> Path:
        return build_cluster(shape, **{**how, "optimise": False})

    monkeypatch.setattr(rtl, "build_cluster", build)


def cluster(shape: ClusterShape = SHAPES[1], **options: int) -> IsaExecutor:
    """A cluster of the instruction-set model."""
    return IsaExecutor(shape, random_choice=bool(options.get("seed")), seed=options.get("seed", 1))
