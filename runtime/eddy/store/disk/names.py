# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How the files beside the database are called.

::

    eddy.sqlite3
    blobs/incoming/<random>.draft   on its way in
    blobs/t-<tenant>/<sha256>
    outputs/<job>.<name>            an output of all items of a job, end to end
    sessions/<number>.memory        what a session's memory holds that is not on the board
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

BLOBS, OUTPUTS, SPILLED = "blobs", "outputs", "sessions"
INCOMING = "incoming"
DRAFT = ".draft"
"""What the names of files end with that are not whole yet."""
_TENANT = "t-"
_BLOB = re.compile(r"[0-9a-f]{64}")


def tenant_folder(tenant: str) -> str:
    """The name of a tenant's folder of blobs."""
    return _TENANT + quote(tenant, safe="")


def tenant_of(folder: str) -> str | None:
    """The inverse of `tenant_folder`; None for another folder."""
    return unquote(folder.removeprefix(_TENANT)) if folder.startswith(_TENANT) else None


def is_blob(file: str) -> bool:
    """Whether a file is called as blobs are."""
    return _BLOB.fullmatch(file) is not None


def output_name(job: int, name: str) -> str:
    """The name of an output's file."""
    return f"{job}.{quote(name, safe='')}"


def output_of(file: str) -> tuple[int, str] | None:
    """The inverse of `output_name`: job and output; None for another file."""
    job, dot, name = file.partition(".")
    return (int(job), unquote(name)) if dot and job.isdecimal() and len(job) < 19 else None
