# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a job is, as values: its graph, plan, items, times, buffers, records. They know of no machine; all other rooms
may use them."""
