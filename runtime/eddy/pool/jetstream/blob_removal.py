# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Takes blobs away to which nobody refers, beside heads that are about to refer to them.

Entries of `eddy_bytes` have one order. Objects of the store have another, by which one is taken away only up to a
place. Whoever takes a blob away finds its object, at a place P, announces that it goes, up to P, and then looks at all
entries of the blob as they were at one moment M after that. Where somebody refers to it then, or it is on its way, or
the entry by which it goes is not there any more, nothing is removed. Else the object goes, and then that entry is taken
back. Whoever is about to refer to a blob announces that it is on its way, and looks at its object after that. So:

- A blob said to go after that stays: M is later than what keeps it.
- A blob said to go before that, whose entry is taken back already, went or did not before its object was looked at.
- Where the entry is there, nobody knows whether M has been. It has not, if somebody refers to the object at P or
  before, or began to keep it before the entry, without a gap: that was there at M otherwise, or would have seen the
  entry. Then the entry is taken back, and without it its author removes nothing. If nobody does, the object may go at
  any time, and whoever would refer to it does not, and takes it away in turn, which takes such entries along.
- What is written again is at a place after P, and nobody takes it away.

Whoever takes back the last entry for which a blob stayed takes the blob away. A head that is killed leaves an entry
that keeps the blob, until somebody sweeps, or one by which it goes: whoever comes next ends that as it is said above.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio
from nats.js.api import ObjectInfo

from eddy.pool.connection.streams import STORE
from eddy.pool.jetstream.blob_writer import find_object, remove_object
from eddy.pool.jetstream.bucket_reader import confirm_stream
from eddy.pool.jetstream.byte_accounts import Reference, TenantBytes, keeping_entries
from eddy.pool.jetstream.link import Link


async def remove_unreferenced(link: Link, tenant: str, sha256: str) -> None:
    """Remove a blob, unless somebody refers to it, or it is on its way."""
    name, account = f"{tenant}/{sha256}", await link.accounts.of(tenant)
    with account.rely():
        while not keeping_entries(account.blobs.get(sha256, {})):
            goings = _goings(account, sha256)
            if (known := await find_object(link, name)) is None:
                await _outdated(account, sha256, goings)
                return
            mark = await account.announce_going(sha256, known[1])
            told: Mapping[str, Reference] = {}
            try:
                told = await account.read_entries(sha256)
            finally:
                if mark not in told or keeping_entries(told):
                    with anyio.CancelScope(shield=True):
                        await account.withdraw(sha256, mark)
            if keeping_entries(told):
                return  # whoever gives up the last of them looks again
            if mark in told:
                # Where this is cut short, it may be done later all the same: the mark stays until the object is gone.
                await remove_object(link, name, *known)
                gone = {each: going for each, going in told.items() if (going.going or 0) <= known[1]}
                await _outdated(account, sha256, gone)
                return


async def announce_blob(link: Link, account: TenantBytes, sha256: str) -> tuple[ObjectInfo, int] | None:
    """What is kept of a blob, for whoever has announced that it is on its way: nobody takes it away then. None where it
    is not there, or may go at this moment, as nobody refers to it."""
    name = f"{account.tenant}/{sha256}"
    await confirm_stream(link.js, STORE)
    goings = _goings(account, sha256)
    known = await find_object(link, name)
    for going in goings.values():
        is_found_before = known is not None and known[1] <= (going.going or 0)
        if is_found_before and not _is_stopped(going, await account.read_entries(sha256)):
            return None
    await _outdated(account, sha256, goings)
    return await find_object(link, name) if goings else known


def _goings(account: TenantBytes, sha256: str) -> dict[str, Reference]:
    return {mark: each for mark, each in account.blobs.get(sha256, {}).items() if each.going is not None}


async def _outdated(account: TenantBytes, sha256: str, goings: Mapping[str, Reference]) -> None:
    """Take entries back by which a blob was to go: it has gone, or does not."""
    for mark, going in goings.items():
        await account.withdraw(sha256, mark, going.revision)


def _is_stopped(going: Reference, told: Mapping[str, Reference]) -> bool:
    """Whether a blob of which it was said that it goes had not gone when these were its entries."""
    return any(not each.coming or each.since < going.revision for each in keeping_entries(told))
