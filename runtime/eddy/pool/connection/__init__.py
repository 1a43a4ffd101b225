# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How heads and boards reach the pool's servers: keys, the connection, what servers say, streams and subjects,
bytes in pieces. The part of the pool that boards have too."""
