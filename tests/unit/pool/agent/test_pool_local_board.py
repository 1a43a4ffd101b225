"""What an agent asks of its board, of a server that only keeps keys."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from eddy.pool.agent.local_board import KEY_LABEL, MEASURED_BYTES, Facts, LocalBoard
from fastapi import Body, FastAPI
from fastapi.responses import JSONResponse


def keeper(keys: dict[str, str]) -> FastAPI:
    """A server that has the tenant already; `keys` is the keys that are valid, by id."""
    app, numbers = FastAPI(), itertools.count()

    @app.post("/v1/admin/tenants")
    async def add(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008
        assert body["id"] == "pool.ada", "the board may have an ada of its own, who is somebody else"
        return JSONResponse({"code": "conflict", "detail": "there already", "status": 409}, 409)

    @app.patch("/v1/admin/tenants/pool.ada")
    async def change(body: dict[str, Any] = Body()) -> dict[str, str]:  # noqa: B008
        assert body["quota"]["max_priority"] == 9, "what it may was decided by a head"
        return {}

    @app.get("/v1/keys")
    async def listed(tenant: str) -> dict[str, object]:
        assert tenant == "pool.ada"
        found = [{"id": name, "label": label, "valid": True} for name, label in keys.items()]
        await asyncio.sleep(0.01)
        return {"keys": found}

    @app.delete("/v1/keys/{name}", status_code=204)
    async def revoke(name: str) -> None:
        del keys[name]

    @app.post("/v1/keys")
    async def make(body: dict[str, str] = Body()) -> dict[str, str]:  # noqa: B008
        name = f"k{next(numbers)}"
        keys[name] = body["label"]
        return {"key": f"eddy_{name}"}

    return app


def test_jobs_that_begin_at_once_share_one_key_and_the_last_agents_key_ends() -> None:
    keys = {"old": KEY_LABEL, "own": "laptop"}

    async def go() -> None:
        board = LocalBoard(keeper(keys), "eddy_operator", "model/test")
        clients = await asyncio.gather(*[board.client("ada") for _ in range(5)])
        assert len({id(client) for client in clients}) == 1

    asyncio.run(go())
    assert keys == {"own": "laptop", "k0": KEY_LABEL}


def test_a_link_is_as_fast_as_its_fastest_late_transfer() -> None:
    board = LocalBoard(FastAPI(), "eddy_operator", "model/test")
    assert board.link_bps == 0.0
    board.transferred(MEASURED_BYTES - 1, 1e-6, paced=False)
    assert board.link_bps == 0.0
    board.transferred(MEASURED_BYTES, 1.0, paced=True)
    assert board.link_bps == pytest.approx(8 * MEASURED_BYTES)
    board.transferred(MEASURED_BYTES, 0.1, paced=True)  # says what it was given, not what the link does
    assert board.link_bps == pytest.approx(8 * MEASURED_BYTES)
    board.transferred(MEASURED_BYTES, 0.5, paced=False)
    assert board.link_bps == pytest.approx(16 * MEASURED_BYTES)


def test_a_board_is_described_once_its_server_knows_its_slots() -> None:
    """An agent may begin before the board has answered; what it says of itself then holds until it says more."""
    app, asked = FastAPI(), list[int]()

    @app.get("/v1/slots")
    async def slots() -> dict[str, object]:
        asked.append(1)
        known = [{"pool": "pipeline", "module": ""}, {"pool": "gpu", "module": "gpu_1c4w4t"}]
        return {"slots": known if len(asked) > 2 else []}

    @app.get("/v1/apps")
    async def apps() -> dict[str, object]:
        return {"apps": [{"name": "lenet"}]}

    board = LocalBoard(app, "eddy_operator", "model/test")
    assert asyncio.run(board.facts()) == Facts("model/test", 2, ("lenet",), True)
    assert len(asked) == 3


def test_a_market_that_began_again_is_read_from_its_beginning() -> None:
    """A board's server was restored: its epochs are counted from less than what was read last."""
    app, asked, newest = FastAPI(), list[int](), [9]

    @app.get("/v1/market/history")
    async def history(after: int, limit: int) -> JSONResponse:
        asked.append(after)
        if after > newest[0]:
            return JSONResponse({"code": "unknown-cursor", "detail": "There was no such epoch.", "status": 410}, 410)
        me = {"shares": [{"core_seconds": 0.5, "pes": 2.0}]}
        return JSONResponse({"epochs": [{"epoch": newest[0], "at_s": 0.0, "ended_s": 1.0, "me": me}]})

    async def go() -> None:
        board = LocalBoard(app, "eddy_operator", "model/test")
        client = board._as("eddy_ada")
        for _ in range(2):
            assert await board._had("ada", client) == {"had": 0.5, "promised": 2.0}
            newest[0] = 3

    asyncio.run(go())
    assert asked == [-1, 9, -1]
