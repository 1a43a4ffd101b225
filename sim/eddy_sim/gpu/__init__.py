# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The GPU cluster in simulation: oracles, checks and runs."""
