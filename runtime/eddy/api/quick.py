"""The short way through a page of a list that is asked for as it should be. That of a submission is `short_way`.

FastAPI solves the dependencies of a route again for every request: it takes longer than all that is then done with it.
Pages come with every look at a list, so theirs are solved here by hand, by the same functions. A request with anything
uncommon about it (another way to log in, a parameter that is refused) takes FastAPI's way, which also finds the words
for what is wrong; nothing has been counted or kept by then, and both ways end in the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from eddy.api.bodies import JsonRoute
from eddy.api.context import Context, charge, identify
from eddy.api.job_filters import ListQuery
from eddy.core.tenants import TenantRecord

List = Callable[[ListQuery, Context, TenantRecord], Coroutine[Any, Any, Response]]
"""What answers a page, to whoever may see it."""
_SCHEME = "bearer"


def quick_list_route(listed: List) -> type[JsonRoute]:
    """A route of a list that takes the short way where it can.

    Args:
        listed: Where both ways end.
    """

    class QuickListRoute(JsonRoute):
        """A list's route."""

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            """Answer, or take FastAPI's way, with nothing read of the body and nothing counted."""
            request = Request(scope)
            credential = _credential(request)
            query = _list_query(request) if credential and scope["method"] == "GET" else None
            if query is None:
                await super().handle(scope, receive, send)
                return
            context = request.app.state.context
            tenant = identify(context, "GET", scope["path"], credential)
            charge(context, tenant, scope)
            response = await listed(query, context, tenant)
            await response(scope, receive, send)

    return QuickListRoute


def _list_query(request: Request) -> ListQuery | None:
    """What is asked for; None where something of it is refused."""
    try:
        return ListQuery.model_validate(_parameters(request))
    except ValidationError:
        return None


def _parameters(request: Request) -> dict[str, Any]:
    """The query's parameters by name, as FastAPI gives them to a model: of what may stand once, the last."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name == "label":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def _credential(request: Request) -> str:
    """The API key; "" where there is none, or it does not come as it usually does."""
    scheme, credential = "", ""
    for name, value in request.scope["headers"]:
        if name == b"authorization":
            scheme, _, credential = value.decode("latin-1").partition(" ")
    return credential if scheme.lower() == _SCHEME and " " not in credential else ""
