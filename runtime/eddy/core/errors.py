# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every error Eddy raises on purpose, as one tree.

::

    EddyError
    ├── InvalidRequest          the caller can mend it: a field is wrong
    │   ├── NotFound            no such job, application, blob, slot
    │   ├── Conflict            the thing exists, but its state forbids this
    │   ├── UnknownCursor       the place to go on from is none of this list or stream
    │   └── CompilationFailed   the compiler refused a kernel's source
    ├── OutputsCollected        what a job left was removed to make room
    ├── QuotaExceeded           a tenant's bound on jobs, memory or bytes is reached
    │   ├── RateLimited         it makes too many requests
    │   └── StorageQuotaExceeded it keeps as many bytes as it may
    ├── Unauthorized            no key, or a key that is not known
    ├── ImageRefused            a partial bitstream may not go where it was asked to go
    ├── PackageRefused          an application package is not signed by anybody who is trusted
    ├── BoardFault              the hardware said no; always with a `cause`
    │   ├── ConfigurationFailed the configuration port reported an error
    │   ├── BoardNotReady       something the board's adapter needs is not there, or not as it must be
    │   │   └── ForeignDesign   somebody else's design is on the fabric
    │   ├── ModuleFault         a module hung, left its windows, or lost its clock
    │   └── MemoryExhausted     the board's arena has no room
    ├── BoardUnreachable        the privileged half is gone
    └── StorageFailed           what must be kept cannot be
        ├── StorageFull         the disk is full; work continues once there is space
        ├── StorageReadOnly     it may be read, not written
        ├── StorageDamaged      what is there is not what was written
        │   └── RecordDamaged   one record is not; all others can be read
        └── StorageInUse        another process has it

Each class carries a stable `code`, an HTTP-free summary of what went wrong. `eddy.api.http.problems` maps codes to
RFC 9457 problem documents; nothing else may.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class EddyError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: One sentence for a person, saying what is wrong and what to do.
        details: Machine-readable facts: the field, what was asked, what is achievable.
    """

    code: ClassVar[str] = "eddy-error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, Any] = details


class InvalidRequest(EddyError):
    """A field of the request is wrong; `details` names it (`field`) and what is allowed (`allowed`)."""

    code = "invalid-request"


class NotFound(InvalidRequest):
    """The named thing does not exist, or not for this tenant."""

    code = "not-found"


class Conflict(InvalidRequest):
    """The thing exists, but the state it is in forbids the request."""

    code = "conflict"


class UnknownCursor(InvalidRequest):
    """The place from which a list or a stream of events is to go on is not known: it is of another list, job or server,
    or what was there has been removed. Whoever asks begins again, with what there is now."""

    code = "unknown-cursor"


class CompilationFailed(InvalidRequest):
    """A kernel's source was refused; the message is the compiler's, `details["diagnostics"]` has line and column."""

    code = "compilation-failed"


class OutputsCollected(EddyError):
    """What a job left was removed to make room; `details` has `collected_unix_s`."""

    code = "outputs-collected"


class QuotaExceeded(EddyError):
    """A bound is reached; `details` has `limit` and `asked`."""

    code = "quota-exceeded"


class RateLimited(QuotaExceeded):
    """Too many requests in a short time; `details` has `limit` and `retry_after_s`."""

    code = "rate-limited"


class StorageQuotaExceeded(QuotaExceeded):
    """A tenant keeps as many bytes as it may in a pool; `details` has `limit` and `asked`."""

    code = "storage-quota-exceeded"


class Unauthorized(EddyError):
    """The key is missing or unknown."""

    code = "unauthorized"


class ImageRefused(EddyError):
    """A partial bitstream may not go into this slot; raised before the slot is touched."""

    code = "image-refused"


class PackageRefused(EddyError):
    """An application package is not signed by a key that is trusted; `details["reason"]` says which way."""

    code = "package-refused"


class BoardFault(EddyError):
    """The hardware refused or failed; `details['cause']` is the name from the cause register."""

    code = "board-fault"


class ConfigurationFailed(BoardFault):
    """The configuration port reported an error, or the slot does not hold what was loaded."""

    code = "configuration-failed"


class BoardNotReady(BoardFault):
    """Something the board's adapter needs is missing or unfit; `cause` names it, the message says how to mend it."""

    code = "board-not-ready"


class ForeignDesign(BoardNotReady):
    """A design is on the fabric that Eddy did not load; no register was read, for that could stop the processor."""

    code = "foreign-design"


class ModuleFault(BoardFault):
    """A module hung, left its windows, flooded memory or lost its clock."""

    code = "module-fault"


class MemoryExhausted(BoardFault):
    """The memory arena of the board has no room for the request."""

    code = "memory-exhausted"


class BoardUnreachable(EddyError):
    """The privileged half of Eddy cannot be reached."""

    code = "board-unreachable"


class StorageFailed(EddyError):
    """What must be kept cannot be written or read; nothing was acknowledged that is not kept."""

    code = "storage-failed"


class StorageFull(StorageFailed):
    """No room is left where the data lies; work goes on by itself once there is."""

    code = "storage-full"


class StorageReadOnly(StorageFailed):
    """The data may be read, but not written."""

    code = "storage-read-only"


class StorageDamaged(StorageFailed):
    """What is there is not what was written; the message names the file, and what helps."""

    code = "storage-damaged"


class RecordDamaged(StorageDamaged):
    """One record is not what was written, and whatever does not need it goes on; the message is for whose it is.
    `details["how"]` says, for the operator, how it shows."""

    code = "record-damaged"


class StorageInUse(StorageFailed):
    """Another process has the data; `details` has its `pid` and `url` where they are known."""

    code = "storage-in-use"
