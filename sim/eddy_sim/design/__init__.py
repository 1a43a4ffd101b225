# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The design as text and files: address map, slot boundary, bitstreams, and the Verilated models built of them.

Called by the simulated board, the benches and the checks of modules."""
