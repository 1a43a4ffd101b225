# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's bitstreams as one folder, every file of it named with its SHA-256 in `package.json`, which may be signed.

The build of a board writes one (`seal`); `eddy install --bitstreams` checks it and puts it where `boardd` looks. A
signature is over what the file says, with a first line that says what it is, so that it passes for nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.core.errors import ImageRefused, InvalidRequest
from eddy.host.trust import verify_signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

LIST = "package.json"
_PLAIN = re.compile(r"[A-Za-z0-9_]+\.(bit|hwh|json|dtbo)")


def canonical(said: Mapping[str, Any]) -> bytes:
    """The bytes a package's signature is over."""
    unsigned = {key: value for key, value in said.items() if key != "signature"}
    return b"eddy board package\n" + json.dumps(unsigned, sort_keys=True, separators=(",", ":")).encode()


def seal(folder: Path, about: Mapping[str, str], key: Ed25519PrivateKey | None) -> None:
    """Write the list of a folder's files.

    Args:
        folder: The folder, whole.
        about: What it is for: ``profile``, ``part``, ``shell``.
        key: Signs the list; None leaves it unsigned.
    """
    files = {path.name: _sha256(path) for path in sorted(folder.iterdir()) if path.name != LIST}
    said: dict[str, Any] = {**about, "files": files}
    if key is not None:
        said["signature"] = key.sign(canonical(said)).hex()
    (folder / LIST).write_text(json.dumps(said, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def checked(folder: Path, profile: str, keys: Sequence[Ed25519PublicKey], required: bool) -> tuple[str, ...]:
    """The names of a package's files, each as it was when the package was made.

    Args:
        folder: The package.
        profile: Of which board it has to be.
        keys: The keys that are trusted.
        required: Whether one of them has to have signed it. A signature that is there has to be one of theirs anyhow,
            where there are any.

    Raises:
        InvalidRequest: It is no package, or one of another board.
        ImageRefused: A file is missing or altered, or nobody who is trusted signed it.
    """
    said = _read(folder / LIST)
    if said["profile"] != profile:
        message = f"{folder} is for profile {said['profile']}, not {profile}; install the package of this board"
        raise InvalidRequest(message, field="bitstreams", asked=profile, achievable=said["profile"])
    signature = str(said.get("signature", ""))
    if (required or (keys and signature)) and not verify_signature(keys, signature, canonical(said)):
        raise ImageRefused(
            f"no trusted key signed {folder / LIST} as it is; sign the package when it is made (--key), and put the"
            " signer's public key into /etc/eddy/trusted-keys",
            reason="untrusted-signature",
        )
    for name, wanted in said["files"].items():
        path = folder / name
        if not path.is_file() or _sha256(path) != wanted:
            what = "damaged" if path.is_file() else "missing"
            raise ImageRefused(f"{path} is {what}: {LIST} says {wanted[:12]}; copy the package again", reason="damaged")
    return tuple(said["files"])


def put(folder: Path, names: Sequence[str], target: Path) -> None:
    """Copy a package's files into a folder, which then holds nothing else; whoever reads sees the old or the new ones.

    Raises:
        OSError: It cannot be written.
    """
    fresh, old = target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")
    for each in (fresh, old):
        shutil.rmtree(each, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name in (*names, LIST):
        shutil.copyfile(folder / name, fresh / name)
    if target.exists():
        os.rename(target, old)
    os.rename(fresh, target)
    shutil.rmtree(old, ignore_errors=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        files = said["files"]
        sound = isinstance(said["profile"], str) and isinstance(files, dict) and "eddy.bit" in files
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidRequest(f"{path.parent} is no package of bitstreams: {error}", field="bitstreams") from None
    if not sound or not all(_PLAIN.fullmatch(name) and isinstance(value, str) for name, value in files.items()):
        raise InvalidRequest(f"{path} does not list a package's files: build it again", field="bitstreams")
    return dict(said)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
