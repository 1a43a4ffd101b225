# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The HTTP API of a head, a file a path, from a request to the pool's records and back. Each route is given the
head's parts (`context`)."""
