# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who did what, for the audit log: noted before it is done, with the key it is done with."""

from __future__ import annotations

from typing import Any

import anyio.to_thread

from eddy.api.dependencies.context import Context
from eddy.api.http.current_request import key_in_use
from eddy.core.tenants import TenantRecord


def record_action(context: Context, actor: TenantRecord, action: str, **facts: Any) -> None:
    """Note what is about to be done, durably.

    Args:
        action: What, as `drain-slot`.
        facts: With what; plain JSON, and no secret.
    """
    context.store.audit.note(context.hasher.hash, actor.id, key_in_use.get(), action, facts)


async def record_action_async(context: Context, actor: TenantRecord, action: str, **facts: Any) -> None:
    """The same, for routes that must not wait for the disk."""
    await anyio.to_thread.run_sync(lambda: record_action(context, actor, action, **facts))
