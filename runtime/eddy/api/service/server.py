# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A whole server: store, board, hypervisor and API put together, and served on a socket."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from eddy.api.access.keys import KeyHasher, load_secret
from eddy.api.access.operator_account import ensure_operator
from eddy.api.dependencies.context import ApiSettings, Context
from eddy.api.dependencies.policy import policy_in_force
from eddy.api.http.connections import guard_connections, proxy_options
from eddy.api.request_bodies.kinds import ServedKind
from eddy.api.service import descriptors, log_lines
from eddy.api.service.app import create_app
from eddy.api.service.listen_socket import listen
from eddy.api.service.policy_choice import check_policies, price_loop
from eddy.api.service.reload import Reloader
from eddy.api.service.serving_loop import ServingLoop
from eddy.api.service.tls import TlsFiles
from eddy.api.service.traces import open_tracer, trace_jobs
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import connect, open_board
from eddy.board.remote.notary_client import NotaryClient
from eddy.core.errors import BoardUnreachable
from eddy.core.faults import Fault
from eddy.core.leases import LeaseRules
from eddy.gpu.compilation.compiler import Compiler
from eddy.host import logs, presence, signals
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.intake import MAX_PART
from eddy.hypervisor.intake.kernels import KernelLimits, KernelPlanner
from eddy.packages.catalogue import CatalogueInForce, load_catalogue
from eddy.packages.checks import ChecksOnRecord, Standing, never
from eddy.packages.signatures import PackageTrust
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.upkeep.folder import DataFolder

BOARDD_PATIENCE_S = 30.0
"""Wall seconds in which boardd, started at the same time, has to listen: it reads as much code as this does first."""

_log = structlog.get_logger("eddy.api")

Progress = Callable[[str], None]


Beside = Callable[["Server"], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What `eddy serve` is told; the fields are those of `eddy.settings`."""

    board: str
    profile: str
    policy: str
    data: Path
    bitstreams: Path
    boardd: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    gpu_policy: str = "fcfs"
    price: str = "market"
    price_settings: PriceSettings = field(default_factory=PriceSettings)
    calibration: Path | None = None
    kernels: KernelLimits = field(default_factory=KernelLimits)
    kernel_cache: Path | None = None
    api: ApiSettings = field(default_factory=ApiSettings)
    log_level: str = "warning"
    log_format: str = logs.TEXT
    tls: TlsFiles | None = None
    traces: str = ""
    packages: PackageTrust = field(default_factory=PackageTrust)
    unchecked_modules: str = "refuse"
    tenant_memory: float = MAX_PART
    usage_half_life_days: float = 0.0
    lease_rules: LeaseRules = field(default_factory=LeaseRules)
    trusted_keys: Path | None = None
    pooled: bool = False


class Server:
    """A server that is put together but not yet running.

    Args:
        settings: What to serve, and where.
        progress: Told what is being built.
        board: A board to use instead of opening the one the settings name.
        kinds: Kinds of jobs it takes beside applications and kernels.
        reloader: Settings that may be read again while it runs.
        beside: What runs in its loop while it serves, given the server.

    Raises:
        InvalidRequest: A setting is wrong.
        Conflict: The address is taken.
        BoardUnreachable: Nothing answers on the board's socket.
        StorageFailed: The data folder cannot be used; another server may have it.
    """

    def __init__(
        self,
        settings: ServerSettings,
        progress: Progress = lambda _: None,
        board: BoardPort | None = None,
        kinds: Sequence[ServedKind] = (),
        reloader: Reloader | None = None,
        beside: Sequence[Beside] = (),
    ) -> None:
        names = {name: getattr(settings, name) for name in ("policy", "gpu_policy", "price")}
        check_policies(names)  # before anything is made: building a board may take minutes
        limits = descriptors.fit_connection_limits(settings.api.connections)
        self.settings = settings = replace(
            settings, api=replace(settings.api, connections=limits, board_name=settings.profile)
        )
        self._kinds, self._reloader, self._beside = kinds, reloader, beside
        self._socket = listen(settings.host, settings.port)
        self.host, self.port = self._socket.getsockname()[:2]
        self.failed = False
        with contextlib.ExitStack() as undo:
            undo.callback(self._socket.close)
            log_lines.configure(settings.log_level, settings.log_format)
            self._tracer = None
            if settings.traces:
                self._tracer, end = open_tracer(settings.traces)
                undo.callback(end)
            data = DataFolder(settings.data)
            undo.callback(data.close)
            self.store = Store(data.database, half_life_days=settings.usage_half_life_days)
            undo.callback(self.store.close)
            self._hasher = KeyHasher(load_secret(data.secret, data.first_start))
            if data.first_start:
                self.store.audit.begin(self._hasher.hash)
            self.store.audit.note_upgrade(self._hasher.hash)
            if settings.boardd is not None:
                self.store.audit.announce = NotaryClient(settings.boardd).announce
            self.key_file = data.key
            self.key_is_new = ensure_operator(self.store, self._hasher, data)
            data.settle(self.url)
            if undo.enter_context(presence.announce_server(settings.data, self.url)):  # before what may take minutes
                self.store.happened.fault(Fault.SERVER_DEATH)
            self.first_start = data.first_start
            shipped = load_catalogue(settings.bitstreams, data.applications, settings.packages)
            self.catalogue = CatalogueInForce(shipped, data.applications, settings.packages)
            with signals.raise_on_signal():
                self.board = board or _board(settings, self.catalogue, progress)
                undo.callback(self.board.release)
            if settings.boardd is not None:
                self.store.audit.announce_head()
            self._uvicorn = self._make()
            for path in self.store.sweep():
                _log.warning("swept a file that nothing names", path=str(path))
            self._held = undo.pop_all()

    @property
    def url(self) -> str:
        """Where it answers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.settings.tls else 'http'}://{host}:{self.port}"

    @property
    def context(self) -> Context:
        """The API's parts."""
        return self._context

    def use_certificate(self, files: TlsFiles) -> None:
        """Take another certificate for new connections; those that are open keep theirs.

        Raises:
            InvalidRequest: It cannot be used.
        """
        served = self._uvicorn.config.ssl
        if served is not None:
            files.load_into(served)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal asks for the end, or until the hypervisor's loop fails (`failed` is true then).

        What it held is given back when it returns: board first, then store, then address. A further signal spares
        those who are still connected nothing more, but cuts nothing else short.

        Args:
            ready: Called once jobs are taken. What it raises ends the server, and is raised again.
        """
        with signals.catch_signals(), contextlib.closing(self), signals.call_on_signal(self._uvicorn.stop):
            self._uvicorn.serve_until_asked(self._socket, ready)

    def close(self) -> None:
        """Close the board's slots, the store and the address; again does nothing. For whoever does not `run` it."""
        self._held.close()

    @contextlib.contextmanager
    def background(self, start_timeout_s: float = 180.0) -> Iterator[Server]:
        """Serve from another thread while the block runs, which begins when jobs are taken.

        Raises:
            BoardUnreachable: It did not start in time.
        """
        ready = threading.Event()
        thread = threading.Thread(target=self.run, args=[ready.set], name="eddy-server", daemon=True)
        thread.start()
        try:
            deadline = time.monotonic() + start_timeout_s
            while not ready.wait(0.01):
                if not thread.is_alive() or time.monotonic() > deadline:
                    raise BoardUnreachable("The server did not start; its log has the cause.")
            yield self
        finally:
            self._uvicorn.should_exit = True
            thread.join(180)

    def _make(self) -> ServingLoop:
        settings = self.settings
        policy = POLICIES.make(policy_in_force(self.store, self.settings.policy))
        gpu_policy = POLICIES.make(self.settings.gpu_policy, "gpu_policy")
        catalogue = self.catalogue.now
        hypervisor = Hypervisor(
            self.board,
            policy,
            self.store,
            self.catalogue.applications,
            catalogue.modules,
            catalogue.constants,
            KernelPlanner(catalogue.modules, Compiler(self.settings.kernel_cache), self.settings.kernels),
            gpu_policy,
            price_loop(
                settings.price,
                settings.price_settings,
                settings.calibration,
                settings.data,
                self.store,
                catalogue.modules,
                self.board,
            ),
            [kind.jobs for kind in self._kinds],
            allow_unchecked=settings.unchecked_modules == "allow",
            memory_part=settings.tenant_memory,
            pooled=settings.pooled,
            standing=self._standing(),
            lease_rules=settings.lease_rules,
        )
        views = [kind.view for kind in self._kinds]
        app = create_app(hypervisor, self.store, self.catalogue, self._hasher, self.settings.api, self._fail, views)
        self._context: Context = app.state.context
        self.app = app
        tls = self.settings.tls
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=5,
            server_header=False,
            backlog=descriptors.AT_ONCE,
            http=guard_connections(  # type: ignore[arg-type]
                self.settings.api.connections, lambda: self.store.happened.fault(Fault.SLOW_CLIENT)
            ),
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else tls.key,
            **proxy_options(self.settings.api.connections),
        )
        beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        if self._reloader is not None:
            beside.append(partial(self._reloader.run, self))
        beside += [partial(each, self) for each in self._beside]
        if self._tracer is not None:
            beside.append(partial(trace_jobs, self._context, self._tracer))
        return ServingLoop(config, app.state.context.ending, hypervisor.wait_ready, beside)

    def _standing(self) -> Standing:
        """Boards behind boardd have records of their own, in their images."""
        told = self.settings
        if told.boardd is not None or told.board not in ("rtl", "model"):
            return never
        return ChecksOnRecord(told.bitstreams, self.catalogue.now.modules, told.board == "model")

    def refused(self) -> dict[str, str]:
        """Applications of which no job is accepted, by name, each with the reason."""
        every = sorted(self.catalogue.applications.items())
        reasons = {name: self._context.hypervisor.refusal(application) for name, application in every}
        return {name: reason for name, reason in reasons.items() if reason}

    def _fail(self) -> None:
        self.failed = True
        self._uvicorn.should_exit = True


def _board(settings: ServerSettings, catalogue: CatalogueInForce, progress: Progress) -> BoardPort:
    if settings.boardd is not None:
        return connect(settings.boardd, BOARDD_PATIENCE_S, progress)
    modules = catalogue.now.modules
    return open_board(
        settings.board,
        settings.profile,
        trusted_keys=settings.trusted_keys,
        modules=sorted(modules),
        # A model has no builds of its own: it takes what the records say of the last one.
        scrubbed=[name for name, each in modules.items() if each.scrubs(each.verified_build)],
        unchecked=[name for name, each in modules.items() if not each.checked_build],
        latency=catalogue.estimates_s,
        progress=progress,
    )
