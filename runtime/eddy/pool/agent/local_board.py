# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board an agent stands beside, through its own API in this process."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from eddy.board.port.pages import PAGE
from eddy.client.async_client import AsyncClient
from eddy.core.applications import BufferRole
from eddy.core.errors import (
    Conflict,
    EddyError,
    MemoryExhausted,
    NotFound,
    QuotaExceeded,
    RateLimited,
    StorageFull,
    Unauthorized,
    UnknownCursor,
)
from eddy.core.jobs import PRIORITIES
from eddy.core.records import OPTIONS
from eddy.core.tenants import MAX_WEIGHT, MIN_WEIGHT, Quota
from eddy.core.units import format_bytes
from eddy.pool.records.records import PoolJob

MEASURED_BYTES = 64 * 1024
"""Shorter transfers say more of delays than of rates."""
NAMED = "pool.{}"
"""What a tenant of the pool is called on a board. Its own name has no dot, so this is never one of the board's tenants
of the same name, who may be somebody else."""
KEY_LABEL = "pool"
"""What its tenants' keys are called on a board."""
EPOCHS = 500
"""Epochs of which one report tells, at most: the latest."""
NOTICED = 0.02
"""Relative difference of a weight from which on it is set: each change is a line in the board's audit log."""
READY_LOOK_S = 0.1
"""A server that has begun before its board answers is asked again so often what slots there are."""
IDLE_CLIENTS = 64
"""Tenants without a job here whose clients are kept; another's next job costs a new key."""
MAX_ITEMS = 1 << 31
"""Items that a job has at most."""
PASSED_ON = ("application", "kernel", "retries", *(name for name, option in OPTIONS.items() if option.for_boards))
"""Fields of a submission a board is given as they are."""


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """What a board is: see `eddy.pool.records.records.PoolBoard`."""

    kind: str
    slots: int
    applications: tuple[str, ...]
    kernels: bool
    computes: bool = True


@dataclass(frozen=True, slots=True)
class CurrentSlots:
    """What its slots are now, which another configuration changes: see `eddy.pool.records.records.PoolBoard`."""

    slots: int
    kernels: bool
    modules: tuple[str, ...]
    computes: bool = True


class LocalBoard:
    """One server, asked as operator and as tenants.

    Args:
        app: Its ASGI application, running.
        operator_key: Its operator's key.
        kind: What it is: boards of a kind take equally long.
        key_now: Reads the operator's key again, where it was exchanged since.
        memory_bytes: Of its memory, what the jobs of a tenant hold together at most; 0 for no bound.

    Attributes:
        memory_bytes: As given.
        width: Jobs of the pool it runs at once; a tenant of the pool may have as many.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        operator_key: str,
        kind: str,
        key_now: Callable[[], str] | None = None,
        memory_bytes: int = 0,
    ) -> None:
        self._app, self._kind, self.memory_bytes = app, kind, memory_bytes
        self._most_items: dict[str, int] = {}
        """Of a job that is run at once, by application."""
        self._key, self._key_now = operator_key, key_now or (lambda: operator_key)
        self._operator = self._as(operator_key)
        self.width = 1
        self._clients: dict[str, AsyncClient] = {}
        """By tenant; of those without work here, the one that had some last is last."""
        self._working: Counter[str] = Counter()
        self._needed: Counter[tuple[str, str]] = Counter()
        self._cuts: dict[int, set[str]] = {}
        """Blobs with parts of inputs, by number of the pool's job."""
        self._making = asyncio.Lock()
        self._rates: deque[float] = deque(maxlen=16)
        self._own: set[str] = set()
        self._weights: dict[str, float] = {}
        self._epochs: dict[str, int] = {}
        self._uses: dict[str, dict[str, float]] = {}

    def _as(self, key: str) -> AsyncClient:
        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
        return AsyncClient("http://127.0.0.1", key, http=transport, timeout_s=600.0)

    async def _asked(self, method: str, path: str, **details: Any) -> Any:
        """What the server answers its operator, whose key may have been exchanged."""
        try:
            return await self._operator.transport.json(method, path, **details)
        except Unauthorized:
            if (key := self._key_now()) == self._key:
                raise
            self._key, self._operator = key, self._as(key)
            return await self._operator.transport.json(method, path, **details)

    async def facts(self) -> BoardFacts:
        """What it is, once its server knows: it has no slots until its board has answered."""
        while not (now := await self.slots()).slots:
            await asyncio.sleep(READY_LOOK_S)
        apps = (await self._asked("GET", "/v1/apps"))["apps"]
        self._most_items = {app["name"]: self._items_that_fit(app) for app in apps}
        fit = (name for name, most in self._most_items.items() if most > 0)
        return BoardFacts(self._kind, now.slots, tuple(sorted(fit)), now.kernels, now.computes)

    def _items_that_fit(self, app: Mapping[str, Any]) -> int:
        """Items of an application that a job on this board has at most; 0 where it has no memory for one."""
        most, pages = int(app.get("max_batch", MAX_ITEMS)), {True: 0, False: 0}
        for buffer in app.get("buffers", ()):  # as `eddy.hypervisor.jobs.job_spec.arena_bytes` counts
            pages[buffer["role"] == BufferRole.CONSTANT.value] += -(-int(buffer["bytes"]) // PAGE)
        left = self.memory_bytes // PAGE - pages[True]
        if not self.memory_bytes or (left >= 0 and not pages[False]):
            return most
        return min(most, max(left, 0) // max(pages[False], 1))

    def most_items(self, job: PoolJob) -> int:
        """Items of a job that this board takes at once."""
        return 1 if job.request.get("kernel") else max(self._most_items.get(job.work, MAX_ITEMS), 1)

    async def slots(self) -> CurrentSlots:
        """What its slots are now; none while its board does not answer."""
        found = await self._asked("GET", "/v1/slots")
        slots, computes = found["slots"], bool(found.get("computes", True))
        modules = tuple(sorted({slot["module"] for slot in slots if slot["module"]}))
        return CurrentSlots(len(slots), any(slot["pool"] == "gpu" for slot in slots), modules, computes)

    async def load(self) -> int:
        """Jobs that have not ended, its own and the pool's; counts to 500."""
        found = [job for state in ("queued", "running") for job in await self._jobs(state)]
        mine = {str(job["tenant"]) for job in found if job["kind"] == "kernel"}
        self._own = {name for name in mine if not name.startswith(NAMED.format(""))}
        return len(found)

    async def _jobs(self, state: str) -> list[dict[str, Any]]:
        page = await self._asked("GET", "/v1/jobs", params={"state": state, "limit": 500})
        return list(page["jobs"])

    async def market(self) -> dict[str, Any]:
        """What its market says to each tenant of the pool that has work there; empty where there is none.

        `clusters`, `epoch`, `at_s` and `price_policy` are those of `GET /v1/market`. `own` is the weight of the board's
        own tenants with kernels, all together. By tenant: `me`, of `GET /v1/market`, and the cores it `had` and was
        `promised`, on average over the epochs that ended since this was last asked; where none has,
        as last told.
        """
        found: dict[str, Any] = {}
        tenants = {}
        # Those who have work here, or any one: the others have no shares.
        asked = [name for name in self._clients if self._working[name]] or [*self._clients][-1:]
        for tenant in asked:
            client = self._clients[tenant]
            try:
                now = await client.transport.json("GET", "/v1/market")
            except NotFound:
                return {}
            except Unauthorized:
                self.forget(tenant)
                continue
            found = now
            if now["me"]["shares"]:
                tenants[tenant] = {"me": now["me"], **await self._had(tenant, client)}
            else:
                self._uses.pop(tenant, None)
        if not found:
            return {}
        del found["me"]
        return {**found, "tenants": tenants, "own": await self._own_weight() if tenants else 0.0}

    async def _had(self, tenant: str, client: AsyncClient) -> dict[str, float]:
        params = {"after": self._epochs.get(tenant, -1), "limit": EPOCHS}
        try:
            epochs = (await client.transport.json("GET", "/v1/market/history", params=params))["epochs"]
        except UnknownCursor:  # its market began again with another data folder, or an older one
            self._epochs.pop(tenant)
            return await self._had(tenant, client)
        if epochs:
            self._epochs[tenant] = int(epochs[-1]["epoch"])
        length_s = sum(epoch["ended_s"] - epoch["at_s"] for epoch in epochs)
        if length_s <= 0:
            return self._uses.get(tenant, {"had": 0.0, "promised": 0.0})
        had_s = sum(share["core_seconds"] for epoch in epochs for share in epoch["me"]["shares"])
        due_s = sum(
            share["pes"] * (epoch["ended_s"] - epoch["at_s"]) for epoch in epochs for share in epoch["me"]["shares"]
        )
        self._uses[tenant] = {"had": had_s / length_s, "promised": due_s / length_s}
        return self._uses[tenant]

    async def _own_weight(self) -> float:
        """Of the board's own tenants with kernels."""
        if not self._own:
            return 0.0
        known = (await self._asked("GET", "/v1/admin/tenants"))["tenants"]
        return sum(float(each["attributes"].get("weight", 1.0)) for each in known if each["id"] in self._own)

    async def set_weights(self, weights: Mapping[str, float]) -> None:
        """Set what tenants of the pool weigh here; differences that nobody would notice are left."""
        for tenant, asked in weights.items():
            weight = min(max(asked, MIN_WEIGHT), MAX_WEIGHT)
            if tenant in self._clients and abs(weight - self._weights.get(tenant, 0.0)) > NOTICED * weight:
                path = f"/v1/admin/tenants/{NAMED.format(tenant)}"
                await self._asked("PATCH", path, body={"weight": weight})
                self._weights[tenant] = weight

    @property
    def link_bps(self) -> float:
        """Rate of the fastest of the last transfers, bits per second; 0 before the first."""
        return max(self._rates, default=0.0)

    def record_transfer(self, size_bytes: int, took_s: float, paced: bool) -> None:
        """Take a transfer in; one that was held back says nothing of the link, unless nothing else is known."""
        if size_bytes >= MEASURED_BYTES and took_s > 0 and not (paced and self._rates):
            self._rates.append(8 * size_bytes / took_s)

    async def client(self, tenant: str) -> AsyncClient:
        """A client as a tenant of the pool; the tenant is made here where it is not there yet."""
        async with self._making:  # two at once would each revoke the other's key
            if tenant not in self._clients:
                here = NAMED.format(tenant)
                # What a tenant of the pool may was decided by a head.
                quota = {"max_jobs": max(self.width, Quota().max_jobs), "max_priority": PRIORITIES[-1]}
                try:
                    key = (await self._asked("POST", "/v1/admin/tenants", body={"id": here, "quota": quota}))["key"]
                except Conflict:
                    key = await self._key_of(here)
                    await self._asked("PATCH", f"/v1/admin/tenants/{here}", body={"quota": quota})
                self._clients[tenant] = self._as(key)
                idle = [name for name in self._clients if not self._working[name] and name != tenant]
                for name in idle[:-IDLE_CLIENTS]:
                    self.forget(name)
        return self._clients[tenant]

    def forget(self, tenant: str) -> None:
        """A tenant's key is good no longer, or not used any more: the next client has another."""
        for kept in (self._clients, self._weights, self._epochs, self._uses):
            kept.pop(tenant, None)

    @asynccontextmanager
    async def hold_inputs(self, job: PoolJob) -> AsyncIterator[None]:
        """While a job is here its inputs are not removed, and its tenant is heard. What was cut for it goes with it."""
        self._working[job.tenant] += 1
        try:
            with self._needs(job.tenant, *job.blobs):
                yield
        finally:
            self._working[job.tenant] -= 1
            client = self._clients.get(job.tenant)
            if client is not None:
                self._clients[job.tenant] = self._clients.pop(job.tenant)  # it had work last
                with suppress(EddyError, httpx.HTTPError):
                    for sha in self._cuts.pop(job.id, ()):
                        await self._remove(client, job.tenant, sha)
            if not self._working[job.tenant]:
                del self._working[job.tenant]

    @contextmanager
    def _needs(self, tenant: str, *shas: str) -> Iterator[None]:
        blobs = [(tenant, sha) for sha in shas]
        self._needed.update(blobs)
        try:
            yield
        finally:
            self._needed.subtract(blobs)
            for blob in blobs:
                if not self._needed[blob]:
                    del self._needed[blob]

    async def _key_of(self, tenant: str) -> str:
        """A key beside those the tenant has; the one before was in the memory of an agent that has ended."""
        kept = (await self._asked("GET", "/v1/keys", params={"tenant": tenant}))["keys"]
        for key in kept:
            if key["label"] == KEY_LABEL and key["valid"]:
                await self._operator.transport.request("DELETE", f"/v1/keys/{key['id']}")
        made = await self._asked("POST", "/v1/keys", body={"tenant": tenant, "label": KEY_LABEL, "scope": "tenant"})
        return str(made["key"])

    async def keep(self, client: AsyncClient, tenant: str, data: bytes) -> None:
        """Keep bytes of a tenant; where it has no room, what no job here needs is removed first.

        Raises:
            EddyError: There is no room without that either, or the server refuses it otherwise.
        """
        try:
            await client.put_blob(data)
        except RateLimited:
            raise
        except (QuotaExceeded, StorageFull):
            for blob in await client.blobs():  # they were kept so that they need not be sent again
                await self._remove(client, tenant, blob["sha256"])
            await client.put_blob(data)

    async def _remove(self, client: AsyncClient, tenant: str, sha256: str) -> None:
        """Remove a blob, unless it is needed; the server keeps one that a job needs which has not ended."""
        if not self._needed[tenant, sha256]:
            with suppress(NotFound, Conflict):
                await client.delete_blob(sha256)

    async def has(self, client: AsyncClient, sha256: str) -> bool:
        """Whether a tenant's blob is here."""
        try:
            await client.transport.request("HEAD", f"/v1/blobs/{sha256}")
        except NotFound:
            return False
        return True

    async def submit(self, client: AsyncClient, job: PoolJob, first: int, items: int, key: str) -> int:
        """Have items of a job run; the same key names the same run.

        Raises:
            EddyError: The board refused it.
            MemoryExhausted: It is a kernel whose arrays do not fit here; another board may have more memory.
        """
        if self.memory_bytes and job.array_bytes > self.memory_bytes:
            message = (
                f"Its arrays have {format_bytes(job.array_bytes)}; here a tenant's jobs hold"
                f" {format_bytes(self.memory_bytes)} at most."
            )
            raise MemoryExhausted(message, asked=job.array_bytes, allowed=self.memory_bytes)
        body = {name: job.request[name] for name in PASSED_ON if job.request.get(name) is not None}
        with ExitStack() as needed:
            if not job.request.get("kernel"):
                constants, labels = job.request.get("constants", {}), {"pool-job": str(job.id)}
                body |= {"batch": items, "constants": constants, "labels": labels}
                inputs = job.request.get("inputs", {})
                body["inputs"] = {
                    name: await self._cut(client, needed, job, shas, first, items) for name, shas in inputs.items()
                }
            answer = await client.transport.json("POST", "/v1/jobs", body=body, headers={"Idempotency-Key": key})
        return int(answer["id"])

    async def _cut(
        self, client: AsyncClient, needed: ExitStack, job: PoolJob, shas: list[str], first: int, items: int
    ) -> list[str]:
        """The blobs of some items; where one blob has them all end to end, their part of it is a blob of its own, which
        is there for as long as `needed` is open."""
        if len(shas) == job.batch:
            return shas[first : first + items]
        if items == job.batch:
            return shas
        data = await client.blob(shas[0])
        size = len(data) // job.batch
        part = data[first * size : (first + items) * size]
        sha = hashlib.sha256(part).hexdigest()
        needed.enter_context(self._needs(job.tenant, sha))
        self._cuts.setdefault(job.id, set()).add(sha)
        await self.keep(client, job.tenant, part)
        return [sha]

    async def cancel(self, client: AsyncClient, number: int) -> None:
        """End a run that nobody wants any more."""
        with suppress(EddyError, httpx.HTTPError):
            await client.cancel(number)
