# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What comes before a policy's rank: tenants' shares of slots by weight, and tokens by priority.

The hypervisor calls `FairShare`; policies call `tokens`."""
