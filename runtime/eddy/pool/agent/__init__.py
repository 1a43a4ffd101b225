# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's part in the pool, next to `eddy serve`: it asks heads for work, runs it through the board's own API,
and commits it. It imports nothing of a head's."""
