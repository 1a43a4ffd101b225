# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every setting of Eddy, once: command-line flags, environment variables and the reference page come from this table.

A value is looked up in this order: the flag, the environment variable (`EDDY_` and the name in capitals), the server's
configuration file, the default.
Nothing here imports more than the standard library, so the table costs `eddy --help` nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Value = str | int | float
Reader = Literal["server", "client", "board", "head", "demo"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: As the flag has it without its dashes, with underscores: ``"max_blob_bytes"``.
        default: Used where neither flag nor environment says anything; its type is the setting's type.
        unit: ``"s"``, ``"bytes"``, ... or ``""`` for names and paths.
        help: One sentence.
        read_by: Which part reads it.
        allowed: The values it may take; empty where any value of the type will do.
        secret: Whether the value must not be printed.
        least: Smallest number it may be; None for names, paths, and what the command itself checks.
        most: Largest; None for no bound.
    """

    name: str
    default: Value
    unit: str
    help: str
    read_by: Reader
    allowed: tuple[str, ...] = ()
    secret: bool = False
    least: float | None = None
    most: float | None = None

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        """The environment variable."""
        return "EDDY_" + self.name.upper()

    def describe(self) -> str:
        """The help text with its unit and allowed values."""
        extra = [f"in {self.unit}"] if self.unit else []
        extra += ["one of " + ", ".join(self.allowed)] if self.allowed else []
        if self.least is not None:
            extra.append(f"at least {self.least:,g}" if self.most is None else f"{self.least:,g} to {self.most:,g}")
        return self.help + (f" ({'; '.join(extra)})" if extra else "")

    def wrong(self, value: object) -> str:
        """What is wrong with a value of the right type, as the end of a sentence; "" where nothing is."""
        if self.allowed and value not in self.allowed:
            return f"it must be one of {', '.join(self.allowed)}"
        if self.least is None or not isinstance(value, (int, float)):
            return ""
        # Written so that NaN is wrong.
        if value >= self.least and (math.isfinite(value) if self.most is None else value <= self.most):
            return ""
        most = "" if self.most is None else f" and at most {self.most:,g}"
        return f"it must be at least {self.least:,g}{most}"

    def parse(self, text: str) -> Value:
        """Turn text into a value of the setting's type.

        Raises:
            ValueError: It is not a value of the type, or not among the allowed ones.
        """
        try:
            value = type(self.default)(text)
        except ValueError:
            raise ValueError(f"{self.environment} is {text!r}; it must be a {type(self.default).__name__}") from None
        wrong = self.wrong(value)
        if wrong:
            raise ValueError(f"{self.environment} is {text!r}; {wrong}")
        return value

    def value(self, environment: Mapping[str, str] = os.environ) -> Value:
        """The environment's value, or the default."""
        text = environment.get(self.environment)
        return self.default if text is None or text == "" else self.parse(text)


_ALL = (
    Setting("url", "http://127.0.0.1:8000", "",
            "Where the hypervisor answers; several heads of a pool with commas between.", "client"),
    Setting("key", "", "", "The tenant's API key, sent as a bearer token.", "client", secret=True),
    Setting("http_timeout_s", 30.0, "s", "Wall time one HTTP request may take before it is tried again.",
            "client", least=0.001),
    Setting("http_retries", 4, "tries", "Retries of a request that got no answer.", "client", least=0, most=100),
    Setting("board", "rtl", "", "Which board adapter to run on.", "server", ("rtl", "model", "pynq")),
    Setting("profile", "kv260", "", "Board profile: slots, clocks, configuration port, memory.", "server"),
    Setting("policy", "eddy", "", "Dispatch policy: which task goes into which slot.", "server"),
    Setting("gpu_policy", "fcfs", "", "With `--price whole`: dispatch policy of the gpu pool's slots.", "server"),
    Setting("price", "market", "",
            "Price policy: each tenant's share of the GPU clusters; `whole` gives each kernel a whole one.", "server"),
    Setting("price_quantum_s", 1e-3, "s", "Board time a slice of a kernel on one core should take.", "server"),
    Setting("price_epoch_s", 0.05, "s", "Board time between two decisions of the price policy.", "server"),
    Setting("calibration", "", "", "What `eddy calibrate` found; empty is calibration.json in the data folder.",
            "server"),
    Setting("kernel_slices", 16, "slices", "With `--price whole`: most slices an ND-range is cut into.",
            "server"),
    Setting("kernel_time_limit_s", 1.0, "s", "Most board time a slice of a kernel may take.", "server"),
    Setting("kernel_cache", "", "", "Directory of compiled kernels; empty is the user's cache.", "server"),
    Setting("config", "", "", "File of the server's settings in YAML, read again on SIGHUP.", "server"),
    Setting("host", "127.0.0.1", "", "Address the API listens on; anything but loopback should have TLS.", "server"),
    Setting("port", 8000, "", "TCP port the API listens on; 0 chooses a free one.", "server", least=0, most=65535),
    Setting("tls_cert", "", "", "Certificate in PEM form, with the chain; empty serves without TLS.", "server"),
    Setting("tls_key", "", "", "Its private key in PEM form.", "server"),
    Setting("data", "~/.local/share/eddy", "", "Directory of the job store, blobs, results and keys.", "server"),
    Setting("boardd", "", "", "UNIX socket of a running `eddy boardd`; empty runs the board in process.", "server"),
    Setting("max_body_bytes", 1 << 20, "bytes", "Largest JSON request body.", "server", least=1024),
    Setting("max_blob_bytes", 256 << 20, "bytes", "Largest blob.", "server", least=1),
    Setting("max_output_bytes", 0, "bytes",
            "Most bytes of outputs; beyond, those of the jobs that ended first are removed. 0 keeps all.",
            "server", least=0),
    Setting("retention_age_s", 0.0, "s",
            "Wall time after its end for which a job is kept, with its events and outputs. 0 keeps it for good.",
            "server", least=0),
    Setting("retention_jobs", 0, "jobs",
            "Most ended jobs kept of all tenants; beyond, those of the tenants that have most go. 0 keeps all.",
            "server", least=0),
    Setting("retention_jobs_per_tenant", 0, "jobs",
            "Most ended jobs kept of a tenant; beyond, those that ended first go. 0 keeps all.", "server", least=0),
    Setting("max_uploads", 16, "uploads", "Most uploads of blobs at once; others wait for their turn.",
            "server", least=1),
    Setting("max_uploads_per_tenant", 8, "uploads", "Most uploads of one tenant at once.", "server", least=1),
    Setting("max_upload_bytes", 4 << 30, "bytes", "Most bytes of all uploads in progress.", "server", least=1),
    Setting("heartbeat_s", 15.0, "s", "Wall time between comment lines on an idle event stream.", "server", least=0.01),
    Setting("page_size", 50, "jobs", "Jobs in one page of a listing where the request names no limit.",
            "server", least=1, most=500),
    Setting("max_connections", 512, "connections", "Most connections at once.", "server", least=1),
    Setting("max_connections_per_client", 256, "connections", "Most connections of one address at once.",
            "server", least=1),
    Setting("trusted_proxies", "", "",
            "Addresses and networks of reverse proxies, with commas between, whose `X-Forwarded-For` and"
            " `X-Forwarded-Proto` are believed.", "server"),
    Setting("request_timeout_s", 10.0, "s", "Wall time for the head of a request, and for a body without progress.",
            "server", least=0.1),
    Setting("min_bytes_per_s", 1000, "bytes/s", "Least rate at which a body is sent and an answer is read.",
            "server", least=1),
    Setting("bitstreams", "", "", "Directory of module manifests and applications; empty is the project's.", "server"),
    Setting("trusted_packages", "", "",
            "Directory of public keys (*.pub): only packages signed with one of them are added. Empty asks for none.",
            "server"),
    Setting("trusted_keys", "", "",
            "Directory of public keys (*.pub) whose signatures over images count on a board in this process; tenants'"
            " own keys are in tenants/TENANT/. Behind `--boardd`, that of boardd counts.", "server"),
    Setting("unsigned_packages", "refuse", "", "With `--trusted-packages`: what becomes of unsigned ones.", "server",
            ("refuse", "allow")),
    Setting("unchecked_modules", "refuse", "",
            "What becomes of jobs on modules whose build has no check on record (`eddy module check`).", "server",
            ("refuse", "allow")),
    Setting("tenant_memory", 0.75, "",
            "Part of the board's memory that the jobs of one tenant hold together at most, where there are several.",
            "server", least=0.01, most=1),
    Setting("usage_half_life_days", 0.0, "days",
            "Wall days after which past use counts half in what tenants and projects are entitled to; 0: not at all.",
            "server", least=0.0, most=3650.0),
    Setting("lease_idle_s", 600.0, "s", "Wall time without a sign of its holder after which a lease ends.", "server",
            least=1.0),
    Setting("lease_notice_s", 60.0, "s",
            "Wall time of notice before a lease ends because its slot is wanted for something else.", "server",
            least=0.0),
    Setting("lease_part", 0.5, "",
            "Part of the pipeline slots that are leased at once, at most; at least one, and never the last of several.",
            "server", least=0.0, most=1.0),
    Setting("public_url", "", "", "How browsers reach the server, as https://eddy.lab.example.", "server"),
    Setting("oidc_issuer", "", "", "OpenID Connect provider that people log in at; empty for keys alone.", "server"),
    Setting("oidc_client_id", "", "", "What the server is called at the provider.", "server"),
    Setting("oidc_secret_file", "", "", "File with its secret there; empty for a public client.", "server"),
    Setting("oidc_scopes", "openid profile email groups", "", "What the provider is asked for.", "server"),
    Setting("oidc_groups_claim", "groups", "", "Claim of the ID token that has the groups; dots lead into it.",
            "server"),
    Setting("oidc_operators", "", "", "Groups of operators, with commas between.", "server"),
    Setting("oidc_tenants", "", "", "Tenants by group, as `students=class,ada-lab=ada`; the first that fits counts.",
            "server"),
    Setting("oidc_projects", "", "",
            "Projects by group, as `vision-lab=vision`: members may log in for each tenant of it.", "server"),
    Setting("oidc_readers", "", "", "Groups whose members only look, with commas between.", "server"),
    Setting("hub_api", "", "",
            "JupyterHub whose tokens are accepted, as http://127.0.0.1:8081/hub/api; empty for none.", "server"),
    Setting("hub_service", "eddy", "", "What the server is called among the hub's services.", "server"),
    Setting("hub_users", "", "", "Tenants by user of the hub, as `ada=ada,kim=class`.", "server"),
    Setting("hub_groups", "", "", "Tenants by group of the hub, where no user is named; the first that fits counts.",
            "server"),
    Setting("webhook_targets", "public", "",
            "Where webhooks of tenants may go: `public` (addresses all of the internet reaches), `none`, `any`, or"
            " networks and host names with commas between. Operators' go anywhere.", "server"),
    Setting("mail_targets", "none", "",
            "Domains that mails of tenants may go to, with commas between; `none`, or `any`. Operators' go anywhere.",
            "server"),
    Setting("smtp_host", "", "", "Mail server that notices are handed to; empty sends no mails.", "server"),
    Setting("smtp_port", 587, "", "Its TCP port.", "server", least=1, most=65535),
    Setting("smtp_security", "starttls", "", "How the connection to it is protected.", "server",
            ("starttls", "tls", "none")),
    Setting("smtp_user", "", "", "Who logs in there; empty logs in as no one.", "server"),
    Setting("smtp_password_file", "", "", "File with that user's password.", "server"),
    Setting("smtp_from", "", "", "Address that notices come from.", "server"),
    Setting("traces", "", "", "OTLP/HTTP endpoint that a trace of each ended job is sent to.", "server"),
    Setting("pool", "", "", "Pool to join: the file `eddy pool admit` writes, or a NATS URL.", "server"),
    Setting("pool_creds", "", "", "Credentials file of NATS, where a pool's own servers know their users by these.",
            "server"),
    Setting("pool_name", "", "", "The board's name in the pool; empty is its file's, or the host's.", "server"),
    Setting("pool_width", 0, "jobs", "Jobs of the pool the board runs at once; 0 is one a slot.", "server", least=0),
    Setting("replan_factor", 2.0, "",
            "Measured times, over or under those planned with by so much, have jobs on boards planned again.",
            "head", least=1.1),
    Setting("replan_interval_s", 10.0, "s",
            "Wall time between two times that jobs on boards are planned again; a job that was moved stays so long.",
            "head", least=1.0),
    Setting("patience_s", 300.0, "s",
            "Wall time in which a board must commit something of a job it runs, and 8 times what that should take.",
            "head", least=1.0),
    Setting("log_level", "warning", "", "Least severe log record written.", "server",
            ("debug", "info", "warning", "error")),
    Setting("log_format", "text", "", "How log records are written: lines for people, or one JSON object a line.",
            "server", ("text", "json")),
    Setting("socket", "/run/eddy/boardd.sock", "", "UNIX socket `eddy boardd` listens on.", "board"),
    Setting("notary", "", "",
            "Folder of boardd's key for the audit log, with what it signed; empty is the socket's folder.", "board"),
    Setting("measured", "", "",
            "Folder of values measured on this board, in place of planned ones; empty keeps the profile's.", "board"),
    Setting("out", "out/demo", "", "Directory for the demonstration's timeline, trace and results.", "demo"),
)  # fmt: skip

SETTINGS: Mapping[str, Setting] = MappingProxyType({setting.name: setting for setting in _ALL})
"""The table, by name."""


def reference_rows() -> Iterator[str]:
    """The rows of docs/reference/settings.md, one a setting."""
    for setting in _ALL:
        default = f"`{setting.default}`" if setting.default != "" else "(none)"
        yield f"| `{setting.flag}` | `{setting.environment}` | {default} | {setting.describe()} | {setting.read_by} |"


if __name__ == "__main__":
    print("\n".join(reference_rows()))
