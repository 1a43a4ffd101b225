# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The processing system's side as PYNQ sees it: clocks, registers, buffers, interrupts, board time.

Called by `device`."""
