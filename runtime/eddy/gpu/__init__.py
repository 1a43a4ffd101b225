# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels for GPU clusters: OpenCL C to RISC-V programs, and launches of them."""
