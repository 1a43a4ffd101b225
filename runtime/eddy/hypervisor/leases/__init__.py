# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that persons hold: what is known of one while it is open, and how the state machine and the board name it."""
