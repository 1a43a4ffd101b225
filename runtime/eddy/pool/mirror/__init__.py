# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head knows of the pool without a question, as it hears of changes: jobs, boards, times, drops, floods.
Read by placement and routes."""
