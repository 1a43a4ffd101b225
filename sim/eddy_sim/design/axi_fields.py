# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fields of a packed memory request, as `ax_t` of `eddy_pkg` has them, for benches that drive it as one vector."""

AX = (
    ("id", 4),
    ("addr", 40),
    ("len", 8),
    ("size", 3),
    ("burst", 2),
    ("cache", 4),
    ("prot", 3),
    ("qos", 4),
    ("user", 4),
)
"""Name and width in bits, from the most significant."""
