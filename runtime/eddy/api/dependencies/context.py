# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every route is given: one server's parts. `eddy.api.service.app` puts them together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from eddy.api.access.hub_tokens import HubSettings, HubTokens
from eddy.api.access.identity_provider import IdentityProvider, OidcSettings
from eddy.api.access.keys import KeyHasher
from eddy.api.access.open_streams import OpenStreams
from eddy.api.access.provider_calls import ProviderCalls
from eddy.api.access.request_limits import InFlightRequests, TenantRateLimits, TokenBuckets
from eddy.api.access.sessions import Sessions
from eddy.api.access.sign_on_flows import SignOnFlows
from eddy.api.access.uploads import UploadLimits, Uploads
from eddy.api.answers.job_pages import RenderedJobs
from eddy.api.http.connections import ConnectionLimits
from eddy.api.http.current_request import caller_in_use
from eddy.api.http.problems import KINDS
from eddy.api.request_bodies.kinds import KindView
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.event_fanout import EventFanout
from eddy.notices.settings import NoticeSettings
from eddy.packages.catalogue import CatalogueInForce
from eddy.store import Store
from eddy.store.db.bounds import JobBounds

STOPPED = "The hypervisor has stopped: tell the operator, whose log says why. What you have submitted is kept."
AWAY = "The board is away: jobs are taken, and continue once it is back. The operator's log says why it is."


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Limits of the API; the defaults are those of `eddy.settings`. `board_name` is what its pages call the board."""

    board_name: str = ""
    max_body_bytes: int = 1 << 20
    max_blob_bytes: int = 256 << 20
    heartbeat_s: float = 15.0
    page_size: int = 50
    max_output_bytes: int = 0
    retention: JobBounds = field(default_factory=JobBounds)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    uploads: UploadLimits = field(default_factory=UploadLimits)
    notices: NoticeSettings = field(default_factory=NoticeSettings)
    oidc: OidcSettings = field(default_factory=OidcSettings)
    hub: HubSettings = field(default_factory=HubSettings)


@dataclass(slots=True)
class Context:
    """One server's parts, as `eddy.api.service.app.compose` puts them together.

    Attributes:
        hypervisor: The engine, which owns the jobs.
        hasher: Turns keys into what the store holds.
        kinds: What is shown of each kind of jobs, by its name.
        uploads: Blobs on their way in.
        in_flight: How many requests of tenants are under way.
        fanout: Tells everyone who follows jobs.
        sessions: Browsers that are logged in.
        rates: How many requests tenants make.
        rate_limits: How many of those that take long.
        rendered: Texts of jobs that have ended.
        ending: Set once the server ends: streams end then.
        failure: Why the hypervisor stopped, where it did; "" while it runs.
        running: Whether the hypervisor's loop has been started.
        provider: Vouches for people; None where they log in with keys alone.
        hub: Tokens of a JupyterHub; None where keys alone are taken.
        flows: Log-ins at the provider that are not over.
        signing_on: Held between looking at the keys there are and making one for somebody who was vouched for.
        hurried: Subscriptions whose messages are sent though their receivers failed a moment ago.
        collected: Jobs whose outputs were removed to make room since the start, and the bytes they had.
    """

    hypervisor: Hypervisor
    store: Store
    catalogue: CatalogueInForce
    hasher: KeyHasher
    settings: ApiSettings
    kinds: Mapping[str, KindView]
    uploads: Uploads
    in_flight: InFlightRequests
    open_streams: OpenStreams
    fanout: EventFanout
    sessions: Sessions
    rates: TokenBuckets = field(default_factory=TokenBuckets)
    rate_limits: TenantRateLimits = field(default_factory=TenantRateLimits)
    rendered: RenderedJobs = field(default_factory=RenderedJobs)
    provider: IdentityProvider | None = None
    provider_calls: ProviderCalls = field(default_factory=ProviderCalls)
    hub: HubTokens | None = None
    flows: SignOnFlows = field(default_factory=SignOnFlows)
    signing_on: Lock = field(default_factory=Lock)
    hurried: set[str] = field(default_factory=set)
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    failure: str = ""
    running: bool = False
    collected: tuple[int, int] = (0, 0)

    @property
    def ready(self) -> bool:
        """Whether jobs are taken at this moment; also while the board is away: they are durable, and wait for it."""
        return self.running and not self.failure and self.hypervisor.ready

    @property
    def unavailable(self) -> str:
        """Why jobs would not run at this moment, though the server has started; "" where they would. Where sockets and
        files lie is the operator's matter: others are told what it means for them."""
        problem, asking = self.store.problem, caller_in_use.get()
        if asking is not None and asking.admin:
            stopped = self.failure and f"The hypervisor has stopped: {self.failure}. Restart `eddy serve`."
            return (
                stopped or self.hypervisor.unreachable_reason or ("" if problem is None else KINDS[problem.code].title)
            )
        if self.failure:
            return STOPPED
        return AWAY if self.hypervisor.unreachable_reason else "" if problem is None else KINDS[problem.code].title
