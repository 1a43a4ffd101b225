# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The demonstrations: tenants share a board, a cluster or a pool, and every answer is checked.

`eddy demo` calls it; nothing else does."""
