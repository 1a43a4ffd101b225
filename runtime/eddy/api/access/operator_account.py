# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The operator's tenant and key: made on the first start, compared with the secret on every other."""

from __future__ import annotations

import logging
from dataclasses import replace

from eddy.api.access.keys import KeyHasher, new_key
from eddy.core.errors import NotFound, RecordDamaged
from eddy.core.jobs import PRIORITIES
from eddy.core.leases import MAX_S
from eddy.core.tenants import Quota, TenantRecord
from eddy.host.files import damaged_file_error, translate_os_errors, write_private
from eddy.store import Store
from eddy.store.db.rows import Commit
from eddy.store.upkeep.folder import DataFolder

OPERATOR = "operator"
"""The tenant that is made on first start, with the operator's rights."""
_UNBOUNDED = Quota(
    max_jobs=1 << 20, max_blob_bytes=1 << 40, max_priority=PRIORITIES[-1], max_leases=64, max_lease_s=MAX_S
)
_PROOF = "secret_proof"
_log = logging.getLogger(__name__)


def ensure_operator(store: Store, hasher: KeyHasher, data: DataFolder) -> bool:
    """See that the secret is the store's, and that the operator has a key; answers whether it is a new one.

    The operator asks for a new key by emptying its file. A file that is missing may have been put into a safe.

    Raises:
        StorageDamaged: The secret is another one than the keys were hashed with.
        StorageFailed: The key cannot be written.
    """
    proof = hasher.hash(_PROOF)
    known = store.meta(_PROOF)
    if known and known != proof:
        fix = "restore it from a backup, or start again with an empty --data"
        raise damaged_file_error(data.secret, f"is not the one {data.database.name} was written with", fix)
    if not known:
        store.commit(Commit(meta={_PROOF: proof}))
    _repair_record(store, hasher, data)
    if _wants_key(store, hasher, data):
        key = new_key()
        # The file first: a start that is cut short between the two leaves a file that the next one replaces.
        write_private(data.key, (key + "\n").encode())
        store.tenants.put(replace(_operator(store), key_hash=hasher.hash(key)))
        return True
    return False


def _operator(store: Store) -> TenantRecord:
    """The operator's tenant as it is, with the bounds and the weight it was given; a new one where there is none."""
    try:
        return store.tenants.get(OPERATOR)
    except NotFound:
        return TenantRecord(OPERATOR, "", admin=True, quota=_UNBOUNDED)


def _repair_record(store: Store, hasher: KeyHasher, data: DataFolder) -> None:
    """Write the operator's tenant again where its record is damaged: who else is to mend things? Keys stay."""
    try:
        store.tenants.get(OPERATOR)
    except NotFound:
        return
    except RecordDamaged:
        with translate_os_errors(data.key):
            key = data.key.read_text(errors="replace").strip() if data.key.exists() else ""
        hashed = hasher.hash(key) if key else ""
        store.tenants.put(TenantRecord(OPERATOR, hashed, admin=True, quota=_UNBOUNDED))
        _log.warning("the operator's record was damaged, and was written again: set its bounds and weight again")


def _wants_key(store: Store, hasher: KeyHasher, data: DataFolder) -> bool:
    try:
        operator = store.tenants.get(OPERATOR)
    except NotFound:
        return True
    if not data.key.exists():
        _log.warning(
            "%s is missing; the key is as before. For a new one, make it as an empty file and restart", data.key
        )
        return False
    with translate_os_errors(data.key):
        key = data.key.read_bytes().strip()
    if key and hasher.hash(key.decode(errors="replace")) != operator.key_hash:
        _log.warning("%s does not hold the operator's key; empty it and restart for a new one", data.key)
    return not key
