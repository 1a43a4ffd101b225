"""The short way through a submission, and a page of a list, that is asked for as it should be.

FastAPI solves the dependencies of a route again for every request: it takes longer than all that is then done with it.
Submissions come by the thousand, and pages with every look at a list, so theirs are solved here by hand, by the same
functions. A request with anything uncommon about it (another way to log in, a body, header or parameter that is
refused) takes FastAPI's way, which also finds the words for what is wrong; nothing has been counted or kept by then,
and both ways end in the same function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from eddy.api.bodies import JsonRoute, StrictRequest, UnfitValue, parse
from eddy.api.bodies_base import IDEMPOTENCY_KEY
from eddy.api.context import Context, charge, identify
from eddy.api.job_filters import ListQuery
from eddy.api.schemas import Job
from eddy.api.submissions import JobSubmission
from eddy.core.tenants import TenantRecord

Submit = Callable[[JobSubmission, Request, Response, Context, TenantRecord, str | None], Coroutine[Any, Any, Job]]
"""What is done with a submission that can be read, by whoever may send it."""
List = Callable[[ListQuery, Context, TenantRecord], Coroutine[Any, Any, Response]]
"""What answers a page, to whoever may see it."""
_KEY = re.compile(IDEMPOTENCY_KEY)
_SCHEME = "bearer"


def quick_route(submit: Submit, model: type[JobSubmission]) -> type[JsonRoute]:
    """A route that takes the short way where it can.

    Args:
        submit: Where both ways end.
        model: The body.
    """

    class QuickRoute(JsonRoute):
        """A submission's route."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            """The route's handler."""
            thorough = super().get_route_handler()
            write = Job.__pydantic_serializer__.to_json
            status = self.status_code or 200

            async def quick(request: Request) -> Response:
                request = StrictRequest(request.scope, request.receive)
                if request.scope["query_string"]:
                    return await thorough(request)
                key, credential = _headers(request)
                if not credential:
                    return await thorough(request)
                try:
                    value = parse(await request.body())
                except (JSONDecodeError, UnfitValue):
                    return await thorough(request)
                context = request.app.state.context
                tenant = identify(context, request.method, request.scope["path"], credential)
                try:
                    body = model.model_validate(value)
                except ValidationError:
                    return await thorough(request)
                charge(context, tenant, request.scope)
                response = Response(status_code=status, media_type="application/json")
                response.headers["Cache-Control"] = "no-store"
                answer = await submit(body, request, response, context, tenant, key)
                response.body = write(answer)
                response.headers["Content-Length"] = str(len(response.body))
                return response

            return quick

    return QuickRoute


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
            _, credential = _headers(request)
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


def _headers(request: Request) -> tuple[str | None, str]:
    """The idempotency key, and the API key; no API key where there is none, or anything is not as it usually is."""
    key, scheme, credential = None, "", ""
    for name, value in request.scope["headers"]:
        if name == b"idempotency-key":
            key = value.decode("latin-1")
            if not _KEY.fullmatch(key):
                return None, ""
        elif name == b"authorization":
            scheme, _, credential = value.decode("latin-1").partition(" ")
    return key, credential if scheme.lower() == _SCHEME and " " not in credential else ""
