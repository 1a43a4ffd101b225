# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels on clusters: which cluster is loaded with what, which kernel is bound to it, and its queues. Called by the
machine."""
