# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What must survive a crash: jobs, their event log, blobs, results and tenants, in one SQLite file."""

from eddy.store.tables.store import Store

__all__ = ["Store"]
