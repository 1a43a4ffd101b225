# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Policies, all pure functions: `dispatch` of slots, `price` of cores, `place` on boards."""
