# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The one loop in which state changes: it feeds the machine, carries its commands out on the board, commits to the
store, recovers after a crash, and tells who follows."""
