"""A whole server: store, board, hypervisor and API put together, and served on a socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import structlog
import uvicorn

from eddy import logs, presence, signals
from eddy.api import log_lines
from eddy.api.app import create_app
from eddy.api.connections import guarded
from eddy.api.context import ApiSettings, Context
from eddy.api.keys import KeyHasher, load_secret
from eddy.api.kinds import ServedKind
from eddy.api.operator import see_to_operator
from eddy.api.policy import PRICE, policy_in_force
from eddy.api.progress import least_of, watch_for
from eddy.api.reload import Reloader
from eddy.api.tls import TlsFiles
from eddy.api.traces import open_tracer, trace_jobs
from eddy.board.factory import connect, open_board
from eddy.board.notary_client import NotaryClient
from eddy.board.port import BoardPort
from eddy.board.profile import load_profile, profile_names
from eddy.core.errors import BoardUnreachable, Conflict, InvalidRequest, NotFound
from eddy.core.faults import Fault
from eddy.core.tenants import LEAST_WEIGHT, MOST_WEIGHT
from eddy.gpu.compiler import Compiler
from eddy.hypervisor import Hypervisor, calibration
from eddy.hypervisor.kernels import KernelLimits, KernelPlanner
from eddy.hypervisor.market_loop import PriceLoop, PriceSettings
from eddy.hypervisor.spread import cluster_kinds
from eddy.packages.catalogue import CatalogueInForce, load_catalogue
from eddy.packages.modules import ModuleManifest
from eddy.packages.signatures import PackageTrust
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.view import DispatchPolicy
from eddy.policy.price import BY_PROGRESS
from eddy.policy.price import POLICIES as PRICE_POLICIES
from eddy.store import Store
from eddy.store.folder import DataFolder

WHOLE = "whole"
"""Names no price policy: kernels get whole clusters."""
BOARDD_PATIENCE_S = 5.0
"""Wall seconds in which boardd, started at the same time, has to listen."""

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
        self.settings = settings
        self._kinds, self._reloader, self._beside = kinds, reloader, beside
        self._socket = _listen(settings.host, settings.port)
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
            self.store = Store(data.database)
            undo.callback(self.store.close)
            self._hasher = KeyHasher(load_secret(data.secret, data.first_start))
            if data.first_start:
                self.store.audit.begin(self._hasher.hash)
            if settings.boardd is not None:
                self.store.audit.announce = NotaryClient(settings.boardd).announce
            self.key_file = data.key
            self.key_is_new = see_to_operator(self.store, self._hasher, data)
            data.settle(self.url)
            if undo.enter_context(presence.announced(settings.data, self.url)):  # before what may take minutes
                self.store.happened.fault(Fault.SERVER_DEATH)
            self.first_start = data.first_start
            shipped = load_catalogue(settings.bitstreams, data.applications, settings.packages)
            self.catalogue = CatalogueInForce(shipped, data.applications, settings.packages)
            with signals.interruptible():
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
        with signals.caught(), contextlib.closing(self), signals.calling(self._uvicorn.stop):
            self._uvicorn.serve_until_asked(self._socket, ready)

    def close(self) -> None:
        """Close the board's slots, the store and the address; again does nothing. For whoever does not `run` it."""
        self._held.close()

    @contextlib.contextmanager
    def background(self, start_timeout_s: float = 60.0) -> Iterator[Server]:
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
            thread.join(30)

    def _make(self) -> _Loop:
        policy = _policy(policy_in_force(self.store, self.settings.policy), "policy")
        gpu_policy = _policy(self.settings.gpu_policy, "gpu_policy")
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
            _price(self.settings, self.store, catalogue.modules, self.board),
            [kind.jobs for kind in self._kinds],
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
            http=guarded(self.settings.api.connections, lambda: self.store.happened.fault(Fault.SLOW_CLIENT)),  # type: ignore[arg-type]
            ssl_certfile=None if tls is None else tls.certificate,
            ssl_keyfile=None if tls is None else tls.key,
        )
        beside: list[Callable[[], Coroutine[Any, Any, None]]] = []
        if self._reloader is not None:
            beside.append(partial(self._reloader.run, self))
        beside += [partial(each, self) for each in self._beside]
        if self._tracer is not None:
            beside.append(partial(trace_jobs, self._context, self._tracer))
        return _Loop(config, app.state.context.ending, hypervisor.wait_ready, beside)

    def _fail(self) -> None:
        self.failed = True
        self._uvicorn.should_exit = True


class _Loop(uvicorn.Server):
    """uvicorn's loop, with the signals left to `eddy.signals`.

    Its own way raises a signal again as soon as the loop has ended: the process would be gone before anything is
    closed.

    Args:
        config: uvicorn's.
        ending: Set before connections are waited for.
        wait_ready: Returns when jobs are taken.
        beside: What runs beside it, until it ends.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        ending: asyncio.Event,
        wait_ready: Callable[[], Awaitable[None]],
        beside: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
    ) -> None:
        super().__init__(config)
        self._ending, self._wait_ready = ending, wait_ready
        self._beside = beside
        self._ready: Callable[[], None] = lambda: None
        self._failure: BaseException | None = None

    def serve_until_asked(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        """Serve on a socket until `stop`; `ready` is called once jobs are taken, and may raise."""
        self._ready = ready
        self.run(sockets=[listener])
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End; asked again, without waiting for open connections. Safe in a signal handler."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def main_loop(self) -> None:
        """uvicorn's, with somebody beside it who says when jobs are taken."""
        tasks = [asyncio.create_task(each()) for each in (*self._beside, self._announce)]
        try:
            await super().main_loop()
        finally:
            for task in tasks:
                task.cancel()

    async def _announce(self) -> None:
        await self._wait_ready()
        try:
            self._ready()
        except BaseException as failure:
            self._failure = failure
            self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End connections, then the application; uvicorn leaves out the application where it must hurry."""
        self._ending.set()
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only on connections whose socket says it is TCP; without it
    # every answer on a kept connection waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)  # now, not when the board is built: a second server must fail before it builds one
    except (OSError, OverflowError) as failure:
        listener.close()
        reason = (failure.strerror if isinstance(failure, OSError) else None) or failure
        if isinstance(failure, socket.gaierror):
            message = f"Cannot listen on {host} ({reason}); choose an address of this machine with --host."
            raise InvalidRequest(message, field="host", asked=host) from failure
        message = f"Cannot listen on {host}:{port} ({reason}); choose another --port."
        raise Conflict(message, field="port", asked=port) from failure
    return listener


def _policy(name: str, setting: str) -> DispatchPolicy:
    if name not in POLICIES:
        allowed = sorted(POLICIES)
        raise InvalidRequest(f"There is no policy {name!r}.", field=setting, allowed=allowed)
    return POLICIES[name]()


def check_policies(values: Mapping[str, Any]) -> None:
    """Refuse policies that do not exist.

    Args:
        values: `policy`, `gpu_policy` and `price` are looked at.

    Raises:
        InvalidRequest: Names the setting, and what it may be.
    """
    for name in ("policy", "gpu_policy"):
        _policy(values[name], name)
    if values["price"] != WHOLE and values["price"] not in PRICE_POLICIES:
        message = f"There is no price policy {values['price']!r}."
        raise InvalidRequest(message, field="price", allowed=[WHOLE, *sorted(PRICE_POLICIES)])


def _price(
    settings: ServerSettings, store: Store, modules: Mapping[str, ModuleManifest], board: BoardPort
) -> PriceLoop | None:
    """What shares clusters; None where kernels get whole ones.

    Raises:
        NotFound, InvalidRequest, Conflict: The policy goes by progress, and there is no calibration of this board.
    """
    name = policy_in_force(store, settings.price, PRICE, PRICE_POLICIES)
    if name == WHOLE:
        return None
    policy, profile, kinds = PRICE_POLICIES[name](), board.describe().profile, cluster_kinds(modules)
    path, needed = settings.calibration or settings.data / calibration.FILE, settings.calibration is not None
    watch = watch_for(board, kinds, path, needed=needed or name in BY_PROGRESS)
    named = load_profile(profile).configurations if profile in profile_names() else {}
    weights, least = partial(weight_of, store), partial(least_of, store)
    return PriceLoop(policy, kinds, weights, settings.price_settings, named, watch, least)


def weight_of(store: Store, tenant: str) -> float:
    """What a tenant is entitled to, relative to the others: its attribute `weight`, 1 where none will do.

    The API takes none that will not do; a folder of an earlier version may have one.
    """
    try:
        weight = float(store.tenants.get(tenant).attributes.get("weight", 1.0))
    except (NotFound, TypeError, ValueError):
        return 1.0
    return weight if LEAST_WEIGHT <= weight <= MOST_WEIGHT else 1.0


def _board(settings: ServerSettings, catalogue: CatalogueInForce, progress: Progress) -> BoardPort:
    if settings.boardd is not None:
        return connect(settings.boardd, BOARDD_PATIENCE_S, progress)
    return open_board(
        settings.board,
        settings.profile,
        modules=sorted(catalogue.now.modules),
        # A model has no builds of its own: it takes what the records say of the last one.
        scrubbed=[name for name, each in catalogue.now.modules.items() if each.scrubs(each.verified_build)],
        latency=catalogue.estimates_s,
        progress=progress,
    )
