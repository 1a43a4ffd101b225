# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who may ask, and how much: keys, sessions of browsers, rates, places for uploads, streams that end with the key
they came with. Used by servers of boards and of pools; it knows no server."""
