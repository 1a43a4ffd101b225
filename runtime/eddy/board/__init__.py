# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards: the port that the hypervisor drives, and what stands behind it: stock PYNQ, the fabric model, a board in
another process."""
