# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[002]: makespan placement."""
