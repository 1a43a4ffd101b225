# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every seed begins with: an application, blobs, tenants, and the API, made once."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.api.access.keys import KeyHasher
from eddy.api.service.app import create_app
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.model.model_images import model_images
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.packages.catalogue import Catalogue, CatalogueInForce
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import BEHAVIOURS, CHAIN, KEY, MODULES, description, item

from faultsim.clients import KEYS, TENANTS

SALTS, MAX_BATCH = 3, 3
MAX_JOBS = 4
"""Jobs a tenant may have at once."""
LONG = 300.0
"""Times what items of the application take otherwise: a simulated board is at work for hours."""
LATENCY = {"rotate": 2e-3 * LONG, "mix": 3e-3 * LONG, "flip": 1e-3 * LONG}
SLOW_CHAIN = dataclasses.replace(
    CHAIN,
    tasks=tuple(
        dataclasses.replace(task, estimate_s=task.estimate_s * LONG, time_limit_s=task.time_limit_s * LONG)
        for task in CHAIN.tasks
    ),
)
DATABASE = "eddy.sqlite3"


@dataclass(frozen=True, slots=True)
class Parts:
    """What seeds share.

    Attributes:
        template: A data folder with tenants and blobs.
        app: The application; its context is exchanged for every life of a server.
        catalogue: What it offers.
        hasher: For keys.
        folder: For folders of seeds, in memory.
    """

    template: Path
    app: Any
    catalogue: CatalogueInForce
    hasher: KeyHasher
    folder: Path


def blob(salt: int, number: int) -> str:
    """The name of one item's input."""
    return hashlib.sha256(item(number, salt)).hexdigest()


CONSTANT = hashlib.sha256(KEY).hexdigest()


def board(slots: int, arena_jobs: int | None) -> Any:
    """What makes the same board again and again; `arena_jobs` says for how many batches of four it has memory."""
    arena = 1 << 20 if arena_jobs is None else arena_jobs * arena_bytes(CHAIN, 4)
    described = description(slots, arena)
    images = model_images(described, MODULES)

    def make(faults: ModelFaults) -> ModelBoard:
        return ModelBoard(described, images, LATENCY, behaviours=BEHAVIOURS, faults=faults)

    return make


@contextlib.contextmanager
def parts() -> Iterator[Parts]:
    """Make them."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="eddy-faults-", dir=memory) as name:
        folder = Path(name)
        template = folder / "template"
        template.mkdir()
        hasher = KeyHasher(b"s" * 32)
        store = Store(template / DATABASE)
        quotas: Mapping[str, Quota] = {tenant: Quota(max_jobs=MAX_JOBS, max_priority=9) for tenant in TENANTS}
        for tenant, key in KEYS.items():
            record = TenantRecord(tenant, hasher.hash(key), tenant == "operator", quotas.get(tenant, Quota()))
            store.tenants.put(record)
        for tenant in TENANTS:
            for data in (KEY, *(item(number, salt) for salt in range(SALTS) for number in range(MAX_BATCH))):
                store.blobs.put(tenant, hashlib.sha256(data).hexdigest(), data)
        catalogue = CatalogueInForce(Catalogue(MODULES, {SLOW_CHAIN.name: SLOW_CHAIN}), folder / "applications")
        first = board(2, None)(ModelFaults({}, frozenset()))
        hypervisor = Hypervisor(first, POLICIES["fcfs"](), store, catalogue.applications, MODULES)
        app = create_app(hypervisor, store, catalogue, hasher)
        store.close()
        yield Parts(template, app, catalogue, hasher, folder)
