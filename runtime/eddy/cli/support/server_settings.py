# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A server's settings, from what the command line, the environment and the configuration file say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eddy.api.access.hub_tokens import HubSettings
from eddy.api.access.identity_provider import OidcSettings
from eddy.api.access.uploads import UploadLimits
from eddy.api.dependencies.context import ApiSettings
from eddy.api.http.connections import ConnectionLimits, parse_proxies
from eddy.api.service.server import ServerSettings
from eddy.api.service.tls import TlsFiles
from eddy.cli.support.installed import bitstreams_folder, not_installed
from eddy.core.errors import InvalidRequest
from eddy.core.leases import LeaseRules
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.kernels import KernelLimits
from eddy.notices.settings import NoticeSettings
from eddy.packages.signatures import PackageTrust
from eddy.store.db.bounds import JobBounds


def server_settings(told: Mapping[str, Any]) -> ServerSettings:
    """The settings of a server.

    Args:
        told: Values by the names of `eddy.settings`, each of its setting's type and in its range.

    Raises:
        InvalidRequest: Values do not go together, or files they name cannot be used.
    """
    return ServerSettings(
        board=told["board"],
        profile=told["profile"],
        policy=told["policy"],
        data=Path(told["data"]).expanduser(),
        bitstreams=bitstreams_folder(told["bitstreams"]),
        boardd=Path(told["boardd"]) if told["boardd"] else None,
        host=told["host"],
        port=told["port"],
        gpu_policy=told["gpu_policy"],
        price=told["price"],
        price_settings=_price_settings(told["price_quantum_s"], told["price_epoch_s"]),
        calibration=_path(told["calibration"]),
        kernels=_kernel_limits(told["kernel_slices"], told["kernel_time_limit_s"]),
        kernel_cache=_path(told["kernel_cache"]),
        api=_api_settings(told),
        log_level=told["log_level"],
        log_format=told["log_format"],
        unchecked_modules=told["unchecked_modules"],
        packages=PackageTrust.load(told["trusted_packages"], told["unsigned_packages"]),
        traces=told["traces"],
        trusted_keys=_path(told["trusted_keys"]),
        tenant_memory=told["tenant_memory"],
        usage_half_life_days=told["usage_half_life_days"],
        lease_rules=LeaseRules(told["lease_idle_s"], told["lease_notice_s"], told["lease_part"]),
        pooled=bool(told["pool"]),
        tls=TlsFiles.named(told["tls_cert"], told["tls_key"]),
    )


def _api_settings(told: Mapping[str, Any]) -> ApiSettings:
    return ApiSettings(
        max_body_bytes=told["max_body_bytes"],
        max_blob_bytes=told["max_blob_bytes"],
        heartbeat_s=told["heartbeat_s"],
        page_size=told["page_size"],
        max_output_bytes=told["max_output_bytes"],
        retention=JobBounds(told["retention_age_s"], told["retention_jobs"], told["retention_jobs_per_tenant"]),
        connections=ConnectionLimits(
            connections=told["max_connections"],
            connections_per_client=told["max_connections_per_client"],
            patience_s=told["request_timeout_s"],
            bytes_per_s=told["min_bytes_per_s"],
            trusted_proxies=parse_proxies(told["trusted_proxies"]),
        ),
        uploads=UploadLimits(
            uploads=told["max_uploads"],
            uploads_per_tenant=told["max_uploads_per_tenant"],
            upload_bytes=told["max_upload_bytes"],
        ),
        notices=NoticeSettings.read(told),
        oidc=_oidc(told),
        hub=HubSettings.read(told),
    )


def _oidc(told: Mapping[str, Any]) -> OidcSettings:
    if told["oidc_issuer"]:
        try:
            import joserfc  # noqa: F401 - only servers with a provider need it
        except ModuleNotFoundError as missing:
            raise not_installed(missing, "oidc") from missing
    return OidcSettings.read(told)


def _path(named: str) -> Path | None:
    return Path(named).expanduser() if named else None


def _kernel_limits(slices: int, time_limit_s: float) -> KernelLimits:
    if slices < 1 or not time_limit_s > 0:
        message = f"Kernels need at least one slice and some time: not {slices} slices of {time_limit_s:g} s."
        raise InvalidRequest(message, field="kernel_slices" if slices < 1 else "kernel_time_limit_s")
    return KernelLimits(slices, time_limit_s)


def _price_settings(quantum_s: float, epoch_s: float) -> PriceSettings:
    if not 0 < quantum_s <= epoch_s:
        message = f"--price-quantum-s is {quantum_s:g}; it must be above 0 and at most --price-epoch-s, {epoch_s:g}."
        raise InvalidRequest(message, field="price_quantum_s", allowed=f"above 0, up to {epoch_s:g}")
    return PriceSettings(quantum_s, epoch_s)
