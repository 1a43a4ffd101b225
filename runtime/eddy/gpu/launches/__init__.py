# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel and its arguments put into memory and executed: packing, slices of an ND-range, the port to what executes.

Called by whoever has a cluster: the hypervisor's clusters, the board's runners, the simulation."""
