# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Settings that are read again while the server works, when it gets SIGHUP.

What may change at once does; what needs a restart is named. Where the new configuration cannot be used, the old one
stays in force, whole, and one line says why.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Protocol

import anyio.to_thread
import structlog

from eddy.api.access.uploads import UploadLimits
from eddy.api.dependencies.context import Context
from eddy.api.service.tls import TlsFiles
from eddy.core.errors import EddyError
from eddy.host import logs
from eddy.settings import Value
from eddy.store.db.bounds import JobBounds

Values = Mapping[str, Value]
"""Values by the names of settings."""
API = ("page_size", "heartbeat_s", "max_output_bytes")
RETENTION = ("retention_age_s", "retention_jobs", "retention_jobs_per_tenant")
LOGS = ("log_level", "log_format")
UPLOADS = ("max_uploads", "max_uploads_per_tenant", "max_upload_bytes")
TLS = ("tls_cert", "tls_key")
LIVE = (*API, *RETENTION, *LOGS, *UPLOADS, *TLS)
"""Settings that may change while the server works."""
_log = structlog.get_logger("eddy.api")


class Reloadable(Protocol):
    """What a server is asked for when settings change."""

    @property
    def context(self) -> Context:
        """Its parts."""

    def use_certificate(self, files: TlsFiles) -> None:
        """Take another certificate for new connections."""


class Reloader:
    """Settings in force, and how they are read again.

    Args:
        values: Those the server was started with.
        read: Reads them again, and checks each.
        check: Raises `InvalidRequest` for those that a start would refuse.
    """

    def __init__(
        self, values: Values, read: Callable[[], Values], check: Callable[[Values], None] = lambda _: None
    ) -> None:
        self.values = dict(values)
        self._read, self._check = read, check
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = asyncio.Event()

    def request_reload(self) -> None:
        """Have them read again; safe in a signal handler. A server that is still starting reads them anyway."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._asked.set)

    async def run(self, server: Reloadable) -> None:
        """Read them whenever that is asked for, until cancelled."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await anyio.to_thread.run_sync(self.reload, server)
            except Exception:  # whatever it was, the next file is read again
                _log.exception("the configuration could not be reloaded")

    def reload(self, server: Reloadable) -> tuple[list[str], list[str]]:
        """Read them once; answers names of settings that changed, and of those that need a restart to.

        Nothing is raised: whatever is wrong leaves the old configuration, and is logged.
        """
        try:
            new = self._read()
            changed = [name for name in self.values if new.get(name, self.values[name]) != self.values[name]]
            live = [name for name in changed if self._may_change(name)]
            self._check(new)
            tls = self._tls({**self.values, **{name: new[name] for name in live}})
            facts = {name: new[name] for name in live}
            # First: what cannot be written into the audit log, on a full disk say, is not done.
            server.context.store.audit.note(server.context.hasher.hash, "", "", "reload-configuration", facts)
            if tls is not None:
                server.use_certificate(tls)
        except EddyError as error:
            _log.error(f"configuration kept as it was: {error.message}")
            return [], []
        self.values.update((name, new[name]) for name in live)
        self._apply(server.context, live)
        others = [name for name in changed if name not in live]
        _log.warning("configuration reloaded", changed=facts, needs_restart=others)
        return live, others

    def _may_change(self, name: str) -> bool:
        return name in LIVE and (name not in TLS or bool(self.values["tls_cert"]))

    def _tls(self, values: Values) -> TlsFiles | None:
        """The certificate as its files are now, checked; None where the server has none, which only a restart changes.

        Raises:
            InvalidRequest: It cannot be used.
        """
        if not self.values["tls_cert"]:
            return None
        return TlsFiles.named(str(values["tls_cert"]), str(values["tls_key"]))

    def _apply(self, context: Context, live: list[str]) -> None:
        values = self.values
        if set(live) & set(LOGS):
            logs.configure(str(values["log_level"]), str(values["log_format"]))
        changes = {name: values[name] for name in API if name in live}
        if changes:
            context.settings = dataclasses.replace(context.settings, **changes)  # type: ignore[arg-type]
        if set(live) & set(RETENTION):
            age_s, most, of_one = (values[name] for name in RETENTION)
            bounds = JobBounds(float(age_s), int(most), int(of_one))
            context.settings = dataclasses.replace(context.settings, retention=bounds)
        if set(live) & set(UPLOADS):
            most, of_one, size = (int(values[name]) for name in UPLOADS)
            context.uploads.limits = UploadLimits(most, of_one, size)
