# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a lane runs its work-items: barriers, loops over items, and what items keep between them, as LLVM text.

Pure functions from text to text, called by `compilation` alone."""
