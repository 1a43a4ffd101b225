# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many slots an application can use ([004] 2.3.2): makespans over slots and batches, and goals from them."""
