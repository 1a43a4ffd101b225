# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The HTTP API: one process's routes, answers and access rules over the hypervisor and the store. Called by `cli`,
and by `pool` for its heads."""
