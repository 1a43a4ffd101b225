# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Register maps: one SystemRDL source, read once, written as RTL, Python, C and documentation."""
