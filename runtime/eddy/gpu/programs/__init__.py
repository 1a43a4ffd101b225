# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compiled programs as values: kernels' signatures, cluster shapes, memory layout, and machine code and LLVM text read.

Knows of no compiler and of no cluster; every other room of `gpu` may call it, and so may all who handle kernels."""
