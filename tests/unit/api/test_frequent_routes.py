"""What a frequent route supports it answers as FastAPI does; everything else it refuses when the server is built."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import anyio
import httpx
import pytest
from eddy.api.http import frequent
from eddy.api.http.frequent import FrequentRoute
from eddy.api.request_bodies.strict_json import JsonRoute
from fastapi import (
    APIRouter,
    BackgroundTasks,
    Body,
    Cookie,
    Depends,
    FastAPI,
    Form,
    Header,
    Path,
    Query,
    Request,
    Response,
    Security,
)
from fastapi.exceptions import RequestValidationError
from fastapi.requests import HTTPConnection
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer, SecurityScopes
from pydantic import AliasChoices, BaseModel, ConfigDict

Called = list[str]
called: Called = []


class Sent(BaseModel):
    number: int


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 5
    label: list[str] = []


async def first(x_number: Annotated[int, Header()]) -> int:
    called.append("first")
    return x_number


async def second(number: Annotated[int, Depends(first)], more: Annotated[int, Query()] = 1) -> int:
    called.append("second")
    return number + more


async def third(number: Annotated[int, Depends(second)], again: Annotated[int, Depends(first)]) -> int:
    called.append("third")
    return number * again


async def rule() -> None:
    called.append("rule")


async def chain(
    response: Response,
    a: Annotated[int, Depends(third)],
    b: Annotated[int, Depends(first)],
    c: Annotated[int | None, Query(ge=3)] = None,
) -> Response:
    called.append("chain")
    return JSONResponse([a, b, c])


async def body(body: Sent, flag: Annotated[bool, Query()] = False) -> Response:
    return JSONResponse([body.number, flag])


async def optional(body: Sent | None = None) -> Response:
    return JSONResponse(None if body is None else body.number)


async def number(value: Annotated[int, Body(ge=3)] = 7) -> Response:
    return JSONResponse(value)


ONE, NONE = ["x"], list[str]()


async def lists(q: Annotated[list[str], Query()] = ONE) -> Response:
    return JSONResponse(q)


async def more_lists(
    q: Annotated[list[int] | None, Query()] = None, x_a: Annotated[list[str], Header()] = NONE
) -> Response:
    return JSONResponse([q, x_a])


_made: list[int] = []


def made() -> int:
    _made.append(0)
    return len(_made)


async def made_anew(a: Annotated[int, Query(default_factory=made)]) -> Response:
    return JSONResponse(a)


async def checked(a: Annotated[int, Query(ge=3, validate_default=True)] = 1) -> Response:
    return JSONResponse(a)


async def aliases(
    a: Annotated[int, Query(alias="b")] = 1, c: Annotated[int, Query(validation_alias=AliasChoices("d", "e"))] = 2
) -> Response:
    return JSONResponse([a, c])


async def scalars(
    part: Annotated[int, Path()],
    a: Annotated[int | None, Query()] = None,
    x_b: Annotated[str | None, Header(min_length=3)] = None,
    c: Annotated[float, Cookie()] = 1.5,
) -> Response:
    return JSONResponse([part, a, x_b, c])


async def model(query: Annotated[Filters, Query()]) -> Response:
    return JSONResponse(query.model_dump())


async def both(request: Request, connection: HTTPConnection) -> Response:
    return JSONResponse([request.method, str(connection.url.path)])


JSON = {"content-type": "application/json"}
ASKED: list[tuple[Callable[..., Any], list[tuple[str, str, dict[str, Any]]]]] = [
    (
        chain,
        [
            ("GET", query, {"headers": headers})
            for query in ("", "?more=x", "?more=2&c=1", "?c=4")
            for headers in ({}, {"x-number": "z"}, {"x-number": "3"})
        ],
    ),
    *(
        (
            each,
            [
                ("POST", query, {"content": content, "headers": headers})
                for query in ("", "?flag=maybe")
                for content in (b"", b'{"number":1}', b'{"number":"x"}', b"{", b"null", b"[]", b"2", b"5")
                for headers in (
                    {},
                    JSON,
                    {"content-type": "text/plain"},
                    {"content-type": "application/problem+json; charset=utf-8"},
                    {"content-type": "application/x-www-form-urlencoded"},
                    {"content-type": "json"},
                    {"content-type": ";"},
                )
            ],
        )
        for each in (body, optional, number)
    ),
    (lists, [("GET", query, {}) for query in ("", "?q=a", "?q=a&q=b", "?q=")]),
    (
        more_lists,
        [("GET", query, {"headers": headers}) for query in ("", "?q=1&q=2", "?q=x") for headers in ({}, {"x-a": "b"})],
    ),
    (checked, [("GET", query, {}) for query in ("", "?a=2", "?a=3", "?a=")]),
    (aliases, [("GET", query, {}) for query in ("", "?a=5", "?b=5", "?d=6", "?e=6", "?d=x&e=6", "?c=9")]),
    (
        scalars,
        [
            ("GET", query, {"headers": headers})
            for query in ("", "?a=1", "?a=1&a=x", "?a=")
            for headers in ({}, {"x-b": "ab"}, {"x-b": "abc"}, {"cookie": "c=2"}, {"cookie": "c=x"})
        ],
    ),
    (model, [("GET", query, {}) for query in ("", "?limit=1&label=a&label=b", "?limit=x", "?other=1")]),
    (both, [("GET", "", {})]),
]


class Client:
    """Makes requests of an application; what it raises is raised here."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app

    def request(self, method: str, path: str, **named: Any) -> httpx.Response:
        async def go() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://eddy") as client:
                return await client.request(method, path, **named)

        return anyio.run(go)


def served(kind: type[JsonRoute], function: Callable[..., Any], methods: list[str], **rules: Any) -> Client:
    """An application with one route, as a server puts it there, that answers with all that is wrong."""
    router = APIRouter(route_class=kind, dependencies=[Depends(rule)])
    router.add_api_route("/{part}", function, methods=methods, **rules)
    app = FastAPI()
    frequent.install(app, router)

    @app.exception_handler(RequestValidationError)
    async def wrong(_: Request, error: RequestValidationError) -> Response:
        return Response(repr([error.errors(), error.body]), 422)

    return Client(app)


@pytest.mark.parametrize(("function", "asked"), ASKED, ids=lambda each: getattr(each, "__name__", ""))
def test_it_answers_and_calls_what_fastapi_does(
    function: Callable[..., Any], asked: list[tuple[str, str, dict[str, Any]]]
) -> None:
    answers: list[list[Any]] = []
    for kind in (FrequentRoute, JsonRoute):
        client = served(kind, function, ["GET", "POST"], dependencies=[Depends(rule)])
        answers.append([])
        for method, query, named in asked:
            called.clear()
            answer = client.request(method, f"/1{query}", **named)
            answers[-1].append((method, query, named, answer.status_code, answer.text, list(called)))
    for planned, usual in zip(*answers, strict=True):
        assert planned == usual
    statuses = {status for *_, status, _, _ in answers[0]}
    assert 200 in statuses
    assert statuses <= {200, 422}


def test_what_depends_on_something_that_is_wrong_is_not_called() -> None:
    client = served(FrequentRoute, chain, ["GET"])
    called.clear()
    assert client.request("GET", "/1", headers={"x-number": "z"}).status_code == 422
    assert called == ["rule"]


def test_a_default_that_is_made_is_made_for_each_request() -> None:
    client = served(FrequentRoute, made_anew, ["GET"])
    assert client.request("GET", "/1").json() + 1 == client.request("GET", "/1").json()


async def answered() -> Response:
    return Response()


def at_once() -> int:
    return 1


def cleaned() -> Iterator[int]:
    yield 1


async def cleaned_later() -> AsyncIterator[int]:
    yield 1


@functools.wraps(cleaned_later)
async def wrapped() -> int:
    return 1


class Made:
    pass


class Callable_:
    async def __call__(self) -> int:
        return 1


async def with_body(sent: Sent) -> int:
    return sent.number


async def with_tasks(tasks: BackgroundTasks) -> int:
    return 1


async def with_scopes(scopes: SecurityScopes) -> int:
    return 1


async def deeper(it: Annotated[int, Depends(at_once)]) -> int:
    return it


def needing(what: Any) -> Callable[..., Any]:
    """A route's function that depends on something."""

    async def function(it: Any = what) -> Response:
        return Response()

    return function


async def two(a: Annotated[int, Body()], b: Annotated[int, Body()]) -> Response:
    return Response()


async def embedded(a: Annotated[Sent, Body(embed=True)]) -> Response:
    return Response()


async def form(a: Annotated[str, Form()]) -> Response:
    return Response()


async def tasks(later: BackgroundTasks) -> Response:
    return Response()


async def unsaid() -> dict[str, int]:
    return {}


def not_awaited() -> Response:
    return Response()


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (needing(Depends(at_once)), r"`at_once` \(parameter `it`\) is no asynchronous"),
    (needing(Depends(deeper)), r"`at_once` \(parameter `it`\) is no asynchronous"),
    (needing(Depends(cleaned)), r"`cleaned` \(parameter `it`\) is no asynchronous"),
    (needing(Depends(cleaned_later)), "`cleaned_later` .*is no asynchronous"),
    (needing(Depends(wrapped)), "`cleaned_later` .*is no asynchronous"),
    (needing(Depends(Made)), "`Made` .*is no asynchronous"),
    (needing(Depends(rule, use_cache=False)), "`rule` .*use_cache=False"),
    (needing(Depends(rule, scope="function")), "`rule` .*scope='function'"),
    (needing(Depends(rule, max_concurrency=1)), "`rule` .*max_concurrency"),
    (needing(Security(rule, scopes=["a"])), "`rule` .*security scopes"),
    (needing(Depends(with_scopes)), "`scopes` of `with_scopes` is for security scopes"),
    (needing(Depends(with_tasks)), "`tasks` of `with_tasks` is for background tasks"),
    (needing(Depends(with_body)), r"`with_body` \(parameter `it`\) takes a body, `sent`"),
    (two, "several bodies, `a`, `b`"),
    (embedded, "body `a` has `embed=True`"),
    (form, "parameter `a` is a form"),
    (tasks, "parameter `later` of `tasks` is for background"),
    (unsaid, "`unsaid` does not say that it answers"),
    (not_awaited, "`not_awaited` is no asynchronous"),
]


@pytest.mark.parametrize(("function", "why"), REFUSED, ids=[f"{n}" for n in range(len(REFUSED))])
def test_what_it_does_not_support_is_refused_when_the_server_is_built(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], why: str
) -> None:
    monkeypatch.setattr("fastapi.dependencies.utils.ensure_multipart_is_installed", lambda: None)
    with pytest.raises(TypeError, match=rf"^POST /\{{part\}} cannot be a frequent route: .*{why}"):
        served(FrequentRoute, function, ["POST"])


@pytest.mark.parametrize("what", [Depends(rule), Depends(Callable_()), Security(HTTPBearer(auto_error=False))])
def test_what_is_called_with_await_is_taken(what: Any) -> None:
    assert served(FrequentRoute, needing(what), ["GET"]).request("GET", "/1").status_code == 200


@pytest.mark.parametrize("named", [{"strict_content_type": False}, {"max_body_size": 9}])
def test_a_setting_of_the_route_that_it_does_not_have_is_refused(named: dict[str, Any]) -> None:
    (name,) = named
    with pytest.raises(TypeError, match=f"^GET /x cannot be a frequent route: it has `{name}"):
        FrequentRoute("/x", answered, **named)


def test_rules_of_the_application_are_refused() -> None:
    router = APIRouter(route_class=FrequentRoute)
    router.add_api_route("/x", answered)
    overridden = FastAPI()
    overridden.dependency_overrides[rule] = answered
    for app, what in (
        (FastAPI(dependencies=[Depends(rule)]), "`dependencies`"),
        (FastAPI(strict_content_type=False), "`strict_content_type=False`"),
        (overridden, "`dependency_overrides`"),
    ):
        with pytest.raises(TypeError, match=rf"the application has {what}, which frequent routes \(/x\) would skip"):
            frequent.install(app, router)
        assert not any(isinstance(route, FrequentRoute) for route in app.router.routes)


def test_what_is_overridden_later_is_refused_with_the_request() -> None:
    client = served(FrequentRoute, answered, ["GET"])
    assert client.request("GET", "/1").status_code == 200
    client.app.dependency_overrides[rule] = answered
    with pytest.raises(TypeError, match="dependency_overrides"):
        client.request("GET", "/1")


def test_what_is_asked_most_is_still_read_at_once() -> None:
    """The check for parameters that are one value does not leave out those of submissions."""
    route = FrequentRoute("/{part}", scalars)
    of = route.dependant
    assert all(
        frequent._is_optional_scalar(field) for field in (*of.query_params, *of.header_params, *of.cookie_params)
    )
    assert not any(frequent._is_optional_scalar(field) for field in FrequentRoute("/x", lists).dependant.query_params)
