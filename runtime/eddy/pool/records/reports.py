# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What boards say, read with suspicion: the key of a board may have been stolen. What a later release adds is passed
over, so that boards can be upgraded one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from eddy.api.answers.market import MarketCluster, MarketMe
from eddy.api.answers.schemas import Kernel
from eddy.api.request_bodies.base import SHA256
from eddy.pool.records.record_json import computes_by_kind
from eddy.pool.records.records import PoolBoard

MAX_CORES = 1 << 16
MAX_BYTES = 1 << 50
MAX_S = 366 * 86400.0
"""Wall seconds a part may take."""
MAX_BPS = 1e15
MAX_WIDTH = 1024
MAX_FIGURE, MAX_NAMED, MAX_LETTERS = 1e15, 4096, 200
"""Figures, clusters and tenants, and letters of a name in a report of a market."""
MAX_SAID_BYTES = 1 << 20
"""Of a request or a lease: a head that reads it does nothing else meanwhile."""
MAX_OUTPUTS = 1024
"""Of a job."""
Name = Annotated[str, Field(max_length=200)]


class BoardMessage(BaseModel):
    """Something a board says."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)


class BoardReport(BoardMessage):
    """`eddy.pool.records.records.PoolBoard`, without its market."""

    kind: Name
    width: int = Field(ge=1, le=MAX_WIDTH)
    slots: int = Field(ge=0, le=MAX_WIDTH)
    applications: tuple[Name, ...] = Field(max_length=10_000)
    kernels: bool
    session: Name
    drained: Name = ""
    modules: tuple[Name, ...] = Field(default=(), max_length=MAX_WIDTH)
    running: tuple[Annotated[int, Field(ge=0, le=(1 << 53))], ...] = Field(default=(), max_length=4 * MAX_WIDTH)
    link_bps: float = Field(default=0.0, ge=0, le=MAX_BPS)
    load: int = Field(default=0, ge=0)
    memory_bytes: int = Field(default=0, ge=0, le=MAX_BYTES)
    guests: int = Field(default=0, ge=0, le=MAX_WIDTH)
    computes: bool | None = None
    release: Annotated[str, Field(max_length=64)] = ""


class PartReport(BoardMessage):
    """A part that a board has run."""

    first: int = Field(ge=0)
    items: int = Field(ge=1)
    outputs: dict[Name, Annotated[str, Field(pattern=SHA256)]] = Field(max_length=MAX_OUTPUTS)
    computed: bool = True
    sent_bytes: int = Field(default=0, ge=0, le=MAX_BYTES)
    unchecked: tuple[Name, ...] = Field(default=(), max_length=MAX_OUTPUTS)


def _of_this_release(kernel: Any) -> Any:
    """Without what a later release says beside."""
    return (
        {name: kernel[name] for name in Kernel.model_fields if name in kernel} if isinstance(kernel, dict) else kernel
    )


class CommitReport(BoardMessage):
    """A part, how long it took, and what the board said of its kernel."""

    part: PartReport
    took_s: float = Field(ge=0, le=MAX_S)
    kernel: Annotated[Kernel | None, BeforeValidator(_of_this_release)] = None


class ErrorReport(BoardMessage):
    """Why a job failed on a board."""

    code: Name
    cause: Name = ""
    message: str = Field(default="", max_length=10_000)


class TransferReport(BoardMessage):
    """Inputs that a board fetched."""

    bytes: int = Field(ge=0, le=MAX_BYTES)
    took_s: float = Field(ge=0, le=MAX_S)
    given_bps: float = Field(ge=0, le=MAX_BPS)


class ReportedTenant(BoardMessage):
    """What a board's market says to a tenant, and the cores it had and was promised since the report before."""

    me: MarketMe
    had: float = Field(ge=0)
    promised: float = Field(ge=0)


class MarketReport(BoardMessage):
    """`eddy.pool.agent.local_board.LocalBoard.market`."""

    epoch: int
    at_s: float
    price_policy: str = Field(max_length=64)
    clusters: list[MarketCluster]
    own: float = Field(ge=0)
    tenants: dict[str, ReportedTenant]


def board_read(name: str, raw: Mapping[str, Any]) -> PoolBoard:
    """What a board says of itself, under the name of whose it is, whatever it calls itself. A report of its market
    that makes no sense is left out. Labels are set by operators, so those that it says it has count for nothing. One of
    an earlier release does not say whether it computes: its adapter does.

    Raises:
        ValueError: It cannot be read.
    """
    said = BoardReport.model_validate(raw)
    computes = computes_by_kind(said.kind) if said.computes is None else said.computes
    board = PoolBoard(name=name, **{**said.model_dump(), "computes": computes})
    return replace(board, market=_market(raw.get("market")))


def _market(said: Any) -> dict[str, Any]:
    """What a report says of what is known, and nothing else of it; empty where it makes no sense."""
    try:
        market = MarketReport.model_validate_json(json.dumps(said), strict=True)
    except ValueError:
        return {}
    kept = market.model_dump(mode="json")
    cores = [cluster.cores for cluster in market.clusters]
    return kept if _fits(kept) and min(cores, default=0) >= 0 and sum(cores) <= MAX_CORES else {}


def _fits(value: Any) -> bool:
    """Whether all of it can be added up and told."""
    if isinstance(value, dict):
        return len(value) <= MAX_NAMED and all(_fits(name) and _fits(each) for name, each in value.items())
    if isinstance(value, list):
        return len(value) <= MAX_NAMED and all(_fits(each) for each in value)
    if isinstance(value, str):
        return len(value) <= MAX_LETTERS
    return value is None or abs(value) <= MAX_FIGURE


def lease_read(name: str, data: bytes) -> PoolBoard:
    """A lease; see `board_read`.

    Raises:
        ValueError: It cannot be read.
    """
    if len(data) > MAX_SAID_BYTES:
        raise ValueError("it is too long")
    try:
        raw = json.loads(data)
        return board_read(name, raw if isinstance(raw, dict) else {})
    except RecursionError as wrong:
        raise ValueError("it is too deep") from wrong


class _Labels(BoardMessage):
    """Of what heads keep of a board, the part that operators set."""

    labels: dict[Annotated[str, Field(max_length=63)], Annotated[str, Field(max_length=64)]] = Field(default={})


def kept_board_read(name: str, data: bytes) -> PoolBoard:
    """What heads keep of a board: what it said, and its labels.

    Raises:
        ValueError: It cannot be read.
    """
    board = lease_read(name, data)
    return replace(board, labels=_Labels.model_validate_json(data).labels)
