"""What must survive a crash: jobs, their event log, blobs, results and tenants, in one SQLite file."""

from eddy.store.store import Store

__all__ = ["Store"]
