# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board through stock PYNQ calls, simulated or real: slots, swaps, runners of modules and clusters, memory,
checks of what was there before."""
