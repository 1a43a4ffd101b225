# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long jobs wait and take: durations with their spread, and quantiles that hold because they are calibrated."""
