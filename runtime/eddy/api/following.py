"""What somebody follows, as the answer to a request."""

from __future__ import annotations

from fastapi import Request

from eddy.api.context import Context
from eddy.api.events import EventStream, Followed
from eddy.api.keys import key_in_use
from eddy.api.open_streams import Credential


def following(context: Context, request: Request, followed: Followed) -> EventStream:
    """The stream of what a request follows, for as long as what it came with is good."""
    credential = Credential.of(request, key_in_use.get())
    return EventStream(
        followed, context.fanout, context.settings.heartbeat_s, context.ending, context.standing, credential
    )
