# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A faked kernel: what stock PYNQ asks of Linux on a Zynq UltraScale+ board, with the simulated shell behind it."""
