# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A file a table: what is kept of jobs, arrays, tenants, keys, usage, events and the audit chain; and the store,
which is all of them."""
