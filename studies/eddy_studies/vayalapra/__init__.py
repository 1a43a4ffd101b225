# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The experiments of [000] on simulated clusters."""
