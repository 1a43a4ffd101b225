# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board is to all that use one: the port's calls, its events, profiles, pages of memory, clocks, and how
launches are described. It knows no implementation."""
