# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Steps of a decision that policies share: rank, eviction, joining, lending, taking a slot back.

Called by policies alone."""
