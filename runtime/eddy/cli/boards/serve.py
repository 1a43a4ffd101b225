# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy serve | boardd`."""

from __future__ import annotations

import contextlib
import re
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from eddy.cli.support import configuration
from eddy.cli.support.installed import not_installed
from eddy.cli.support.options import BOARD, PROFILE, AsJsonReady, default, option
from eddy.cli.support.output import BOARD as BOARD_FAILED
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.core.errors import InvalidRequest
from eddy.host import logs, signals

if TYPE_CHECKING:
    from eddy.api.service.reload import Reloader
    from eddy.api.service.server import Beside, Server, ServerSettings

_TLS_HELP = " give --tls-cert and --tls-key, or let a TLS proxy on this machine listen instead"
Board = Annotated[str, option("board")]
Profile = Annotated[str, option("profile")]


class Serve(TyperCommand):
    """Its help names the policies there are, which may be of other distributions."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write it."""
        from eddy.policy.dispatch import POLICIES
        from eddy.policy.price import POLICIES as PRICE_POLICIES
        from eddy.policy.registry import Policies

        known: dict[str | None, Policies[Any]] = {"policy": POLICIES, "gpu_policy": POLICIES, "price": PRICE_POLICIES}
        for parameter in self.params:
            if parameter.name in known:
                parameter.help += f" One of {', '.join(known[parameter.name])}."  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def serve(
    context: typer.Context,
    config: Annotated[str, option("config", is_eager=True)] = default("config"),
    board: Board = BOARD,
    profile: Profile = PROFILE,
    policy: Annotated[str, option("policy")] = default("policy"),
    gpu_policy: Annotated[str, option("gpu_policy")] = default("gpu_policy"),
    price: Annotated[str, option("price")] = default("price"),
    price_quantum_s: Annotated[float, option("price_quantum_s")] = default("price_quantum_s"),
    price_epoch_s: Annotated[float, option("price_epoch_s")] = default("price_epoch_s"),
    calibration: Annotated[str, option("calibration")] = default("calibration"),
    kernel_slices: Annotated[int, option("kernel_slices")] = default("kernel_slices"),
    kernel_time_limit_s: Annotated[float, option("kernel_time_limit_s")] = default("kernel_time_limit_s"),
    kernel_cache: Annotated[str, option("kernel_cache")] = default("kernel_cache"),
    host: Annotated[str, option("host")] = default("host"),
    port: Annotated[int, option("port")] = default("port"),
    tls_cert: Annotated[str, option("tls_cert")] = default("tls_cert"),
    tls_key: Annotated[str, option("tls_key")] = default("tls_key"),
    data: Annotated[str, option("data")] = default("data"),
    boardd: Annotated[str, option("boardd")] = default("boardd"),
    bitstreams: Annotated[str, option("bitstreams")] = default("bitstreams"),
    max_body_bytes: Annotated[int, option("max_body_bytes")] = default("max_body_bytes"),
    max_blob_bytes: Annotated[int, option("max_blob_bytes")] = default("max_blob_bytes"),
    max_output_bytes: Annotated[int, option("max_output_bytes")] = default("max_output_bytes"),
    retention_age_s: Annotated[float, option("retention_age_s")] = default("retention_age_s"),
    retention_jobs: Annotated[int, option("retention_jobs")] = default("retention_jobs"),
    retention_jobs_per_tenant: Annotated[int, option("retention_jobs_per_tenant")] = default(
        "retention_jobs_per_tenant"
    ),
    max_uploads: Annotated[int, option("max_uploads")] = default("max_uploads"),
    max_uploads_per_tenant: Annotated[int, option("max_uploads_per_tenant")] = default("max_uploads_per_tenant"),
    max_upload_bytes: Annotated[int, option("max_upload_bytes")] = default("max_upload_bytes"),
    heartbeat_s: Annotated[float, option("heartbeat_s")] = default("heartbeat_s"),
    page_size: Annotated[int, option("page_size")] = default("page_size"),
    max_connections: Annotated[int, option("max_connections")] = default("max_connections"),
    max_connections_per_client: Annotated[int, option("max_connections_per_client")] = default(
        "max_connections_per_client"
    ),
    trusted_proxies: Annotated[str, option("trusted_proxies")] = default("trusted_proxies"),
    request_timeout_s: Annotated[float, option("request_timeout_s")] = default("request_timeout_s"),
    min_bytes_per_s: Annotated[int, option("min_bytes_per_s")] = default("min_bytes_per_s"),
    trusted_packages: Annotated[str, option("trusted_packages")] = default("trusted_packages"),
    trusted_keys: Annotated[str, option("trusted_keys")] = default("trusted_keys"),
    unsigned_packages: Annotated[str, option("unsigned_packages")] = default("unsigned_packages"),
    unchecked_modules: Annotated[str, option("unchecked_modules")] = default("unchecked_modules"),
    tenant_memory: Annotated[float, option("tenant_memory")] = default("tenant_memory"),
    usage_half_life_days: Annotated[float, option("usage_half_life_days")] = default("usage_half_life_days"),
    lease_idle_s: Annotated[float, option("lease_idle_s")] = default("lease_idle_s"),
    lease_notice_s: Annotated[float, option("lease_notice_s")] = default("lease_notice_s"),
    lease_part: Annotated[float, option("lease_part")] = default("lease_part"),
    public_url: Annotated[str, option("public_url")] = default("public_url"),
    oidc_issuer: Annotated[str, option("oidc_issuer")] = default("oidc_issuer"),
    oidc_client_id: Annotated[str, option("oidc_client_id")] = default("oidc_client_id"),
    oidc_secret_file: Annotated[str, option("oidc_secret_file")] = default("oidc_secret_file"),
    oidc_scopes: Annotated[str, option("oidc_scopes")] = default("oidc_scopes"),
    oidc_groups_claim: Annotated[str, option("oidc_groups_claim")] = default("oidc_groups_claim"),
    oidc_operators: Annotated[str, option("oidc_operators")] = default("oidc_operators"),
    oidc_tenants: Annotated[str, option("oidc_tenants")] = default("oidc_tenants"),
    oidc_projects: Annotated[str, option("oidc_projects")] = default("oidc_projects"),
    oidc_readers: Annotated[str, option("oidc_readers")] = default("oidc_readers"),
    hub_api: Annotated[str, option("hub_api")] = default("hub_api"),
    hub_service: Annotated[str, option("hub_service")] = default("hub_service"),
    hub_users: Annotated[str, option("hub_users")] = default("hub_users"),
    hub_groups: Annotated[str, option("hub_groups")] = default("hub_groups"),
    webhook_targets: Annotated[str, option("webhook_targets")] = default("webhook_targets"),
    mail_targets: Annotated[str, option("mail_targets")] = default("mail_targets"),
    smtp_host: Annotated[str, option("smtp_host")] = default("smtp_host"),
    smtp_port: Annotated[int, option("smtp_port")] = default("smtp_port"),
    smtp_security: Annotated[str, option("smtp_security")] = default("smtp_security"),
    smtp_user: Annotated[str, option("smtp_user")] = default("smtp_user"),
    smtp_password_file: Annotated[str, option("smtp_password_file")] = default("smtp_password_file"),
    smtp_from: Annotated[str, option("smtp_from")] = default("smtp_from"),
    traces: Annotated[str, option("traces")] = default("traces"),
    pool: Annotated[str, option("pool")] = default("pool"),
    pool_creds: Annotated[str, option("pool_creds")] = default("pool_creds"),
    pool_name: Annotated[str, option("pool_name")] = default("pool_name"),
    pool_width: Annotated[int, option("pool_width")] = default("pool_width"),
    log_level: Annotated[str, option("log_level")] = default("log_level"),
    log_format: Annotated[str, option("log_format")] = default("log_format"),
    as_json: AsJsonReady = False,
) -> None:
    """Run the hypervisor and its HTTP API.

    With --config or --tls-cert, SIGHUP reads the file and the certificate again and ends nothing.
    """
    # Most options are read by their names, as those of the file are when it is read again.
    early = _read_anyway if config or tls_cert else None  # until there is somebody to read them again
    logs.guard_stdout()
    with signals.catch_signals(), signals.call_on_reload(early), errors_in_one_line(as_json):
        try:
            from eddy.host import memory_tuning

            memory_tuning.limit_heaps()
            with memory_tuning.pause_collection():
                from eddy.api.service.policy_choice import check_policies
                from eddy.api.service.reload import Reloader
                from eddy.cli.support.server_settings import server_settings
        except ModuleNotFoundError as missing:
            raise not_installed(missing, "serve") from missing
        told = configuration.in_force(context)
        settings = server_settings(told)
        reloader = Reloader(told, partial(configuration.in_force, context, fresh=True), check_policies)
        _run(settings, reloader, bool(config), _beside(pool, pool_creds, pool_name, pool_width), as_json)


def _read_anyway() -> None:
    """What SIGHUP asks for while the server starts: the files are read now."""


def _run(settings: ServerSettings, reloader: Reloader, has_file: bool, beside: list[Beside], as_json: bool) -> None:
    """Build a server and keep it until it is told to stop.

    Args:
        reloader: Reads the configuration file and the certificate again.
        has_file: Whether there is a configuration file.
        beside: What runs with the server.
        as_json: Whether what it says at its start is JSON.

    Raises:
        typer.Exit: The hypervisor stopped by itself.
    """
    from eddy.api.service.server import Server
    from eddy.api.service.tls import is_plaintext
    from eddy.host import interpreter_switching, memory_tuning

    built = partial(
        Server, settings, progress=lambda text: print_status(f"eddy: {text}"), reloader=reloader, beside=beside
    )
    reloads = reloader.request_reload if has_file or settings.tls else None
    with signals.call_on_reload(reloads), contextlib.closing(built()) as server:
        if not as_json:
            _describe(server)
        if is_plaintext(settings.host, settings.tls):
            print_status(
                f"eddy: warning: {server.url} has no TLS, so keys and data can be read on the network;{_TLS_HELP}"
            )
        if settings.tls is not None and settings.tls.key_is_loose:
            print_status(f"eddy: warning: others can read {settings.tls.key}: chmod 600 {settings.tls.key}")
        memory_tuning.freeze_objects()
        interpreter_switching.set_switch_interval()
        server.run(ready=partial(_announce, server, as_json))
    if server.failed:
        print_status("eddy: the hypervisor stopped; the log above has the cause")
        raise typer.Exit(BOARD_FAILED)
    print_status("eddy: stopped; jobs that have not ended continue at the next start")


def _beside(pool: str, creds: str, name: str, width: int) -> list[Beside]:
    """The agent of a pool, where one is named."""
    if not pool:
        return []
    try:
        from eddy.pool.agent.agent import AgentSettings, agent_beside
        from eddy.pool.connection.credentials import PoolAccess
    except ModuleNotFoundError as missing:
        raise not_installed(missing, "pool") from missing
    admitted = PoolAccess.named(pool, creds).name
    called = name or admitted or socket.gethostname()
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", called):
        message = "A board's name in the pool has letters, digits, - and _; give one with --pool-name."
        raise InvalidRequest(message, field="pool_name", asked=called)
    if admitted and called != admitted:
        message = f"{pool} admits {admitted}, not {called}: leave --pool-name out."
        raise InvalidRequest(message, field="pool_name", asked=called, allowed=admitted)
    return [agent_beside(AgentSettings(pool, called, width, creds))]


def _describe(server: Server) -> None:
    """Say what it serves."""
    described = server.board.describe()
    where = f"behind {server.settings.boardd}" if server.settings.boardd else server.settings.board
    print_status(f"eddy: board: {where}: {described.board}, profile {described.profile}, {len(described.slots)} slots")
    if not described.computes:
        print_status("eddy: this board models times: accelerators compute nothing, and their outputs are zeros")
    _say_kept(server)


def _say_kept(server: Server) -> None:
    """Say where a policy that was put in force before holds, not the one of the command line."""
    from eddy.api.dependencies.policy import DISPATCH, PRICE, replaced_policy
    from eddy.policy.dispatch import POLICIES
    from eddy.policy.price import POLICIES as PRICE_POLICIES

    told = server.settings
    for of, name, known, set_by in (
        (DISPATCH, told.policy, POLICIES, "eddy policy"),
        (PRICE, told.price, PRICE_POLICIES, "eddy market set"),
    ):
        live = replaced_policy(server.store, name, of, known)
        if live:
            print_status(
                f"eddy: --{of} {live} is in use, not {name}: it was chosen while the server ran;"
                f" `{set_by} {name}` changes it"
            )


def _announce(server: Server, as_json: bool) -> None:
    """Say where it takes jobs, and where the operator's key is."""
    if as_json:
        print_json({"url": server.url, "operator_key_file": str(server.key_file)})
        return
    print_status(f"eddy: serving on {server.url} (API reference: {server.url}/docs)")
    for name, reason in server.refused().items():
        print_status(f"eddy: warning: {name} is refused: {reason}")
    print_status(f"eddy: the operator's key is {'new' if server.key_is_new else 'as before'}; to use it:")
    print_status(f"  export EDDY_KEY={f'$(cat {server.key_file})' if server.key_file.exists() else '...'}")


BOARDS = ("rtl", "pynq")
"""What `boardd` serves: boards with hardware, or its simulation, behind them."""


def boardd(
    board: Annotated[str, option("board", allowed=BOARDS)] = BOARD,
    socket: Annotated[str, option("socket")] = default("socket"),
    profile: Profile = PROFILE,
    images: Annotated[Path | None, typer.Option("--images", help="Folder of the overlay and its images.")] = None,
    trusted_keys: Annotated[
        Path | None, typer.Option("--trusted-keys", help="Folder of public keys whose signatures count.")
    ] = None,
    notary: Annotated[str, option("notary")] = default("notary"),
    measured: Annotated[str, option("measured")] = default("measured"),
    log_level: Annotated[str, option("log_level")] = default("log_level"),
    log_format: Annotated[str, option("log_format")] = default("log_format"),
    take_fabric: Annotated[
        bool, typer.Option("--take-fabric", help="Replace a design on the fabric that Eddy did not load.")
    ] = False,
    as_json: AsJsonReady = False,
) -> None:
    """Run the privileged half: it alone owns the board (rtl or pynq), and listens on a UNIX socket."""
    logs.guard_stdout()
    with signals.catch_signals(), errors_in_one_line(as_json):
        try:
            from eddy.board.remote import boardd as daemon
        except ModuleNotFoundError as missing:
            raise not_installed(missing, "board") from missing

        logs.configure(log_level, log_format)

        def ready(_: object) -> None:
            if as_json:
                print_json({"socket": socket, "board": board, "profile": profile})
            else:
                print_status(f"eddy: {board} board, profile {profile}, on {socket}")

        print_status(f"eddy: opening {board} board, profile {profile}")
        kept = Path(notary).expanduser() if notary else None
        daemon.serve(
            board,
            Path(socket),
            profile,
            images=images,
            trusted_keys=trusted_keys,
            notary=kept,
            ready=ready,
            take_fabric=take_fabric,
            measured=Path(measured).expanduser() if measured else None,
        )
