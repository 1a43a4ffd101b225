# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What an agent asks of its board, of a server that only keeps keys."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from eddy.board.port.pages import PAGE
from eddy.core.errors import MemoryExhausted
from eddy.pool.agent.local_board import KEY_LABEL, MEASURED_BYTES, BoardFacts, LocalBoard
from eddy.pool.mirror.board_drops import after_board_failure, refused_by
from eddy.pool.records.records import PoolJob
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
    board.record_transfer(MEASURED_BYTES - 1, 1e-6, paced=False)
    assert board.link_bps == 0.0
    board.record_transfer(MEASURED_BYTES, 1.0, paced=True)
    assert board.link_bps == pytest.approx(8 * MEASURED_BYTES)
    board.record_transfer(MEASURED_BYTES, 0.1, paced=True)  # says what it was given, not what the link does
    assert board.link_bps == pytest.approx(8 * MEASURED_BYTES)
    board.record_transfer(MEASURED_BYTES, 0.5, paced=False)
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
    assert asyncio.run(board.facts()) == BoardFacts("model/test", 2, ("lenet",), True)
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


def test_a_board_offers_what_fits_its_memory_and_takes_as_many_items_as_fit() -> None:
    app = FastAPI()
    page = {"bytes": PAGE, "role": "input"}
    buffers = {
        "small": [page],
        "constant": [{"bytes": 3 * PAGE + 1, "role": "constant"}],
        "both": [{"bytes": 2 * PAGE, "role": "constant"}, page, {**page, "role": "output"}],
        "large": [{"bytes": 9 * PAGE, "role": "internal"}],
        "hard": [{"bytes": 8 * PAGE, "role": "constant"}, page],
    }

    @app.get("/v1/slots")
    async def slots() -> dict[str, object]:
        return {"slots": [{"pool": "pipeline", "module": ""}]}

    @app.get("/v1/apps")
    async def apps() -> dict[str, object]:
        return {"apps": [{"name": name, "buffers": each, "max_batch": 6} for name, each in buffers.items()]}

    async def fits(memory_bytes: int) -> dict[str, int]:
        board = LocalBoard(app, "eddy_operator", "model/test", memory_bytes=memory_bytes)
        names = (await board.facts()).applications
        return {name: board.most_items(PoolJob(1, "ada", {"application": name}, 0.0)) for name in names}

    assert asyncio.run(fits(8 * PAGE)) == {"both": 3, "constant": 6, "small": 6}
    assert asyncio.run(fits(4 * PAGE)) == {"both": 1, "constant": 6, "small": 4}
    assert asyncio.run(fits(0)) == dict.fromkeys(sorted(buffers), 6)


def test_a_kernel_whose_arrays_do_not_fit_is_refused_as_another_board_may_have_more_memory() -> None:
    array = {"buffer": "0" * 64, "dtype": "<f4", "shape": [64, 64]}
    kernel = {"kernel": "k", "arguments": [array, {"value": 1}, {**array, "dtype": "|u1"}]}
    job = PoolJob(1, "ada", {"kernel": kernel}, 0.0).place_on("b1", 0.0, {})
    assert job.array_bytes == 64 * 64 * 5
    board = LocalBoard(FastAPI(), "eddy_operator", "model/test", memory_bytes=job.array_bytes - 1)
    with pytest.raises(MemoryExhausted) as refused:
        asyncio.run(board.submit(board._as("k"), job, 0, 1, "key"))
    error = {"code": "job-failed", "cause": refused.value.code, "message": refused.value.message}
    back = after_board_failure(job, job.token, error, 1.0)
    assert (back.state, *refused_by(back)) == ("queued", "b1")
