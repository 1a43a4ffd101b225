# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a tenant asks of a server, once for both clients: jobs, arrays, kernels, blobs, keys, and their handles.

Reached through `Client` and `AsyncClient`; programs name its handles only as types."""
