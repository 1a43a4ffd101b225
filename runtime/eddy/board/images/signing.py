# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Signatures over image manifests: identity says what is in a slot, signatures say whether it may be.

What is signed is the manifest's canonical form: the fields of `Image` without the signature, as JSON with sorted keys,
no spaces, UTF-8. It names the file by its SHA-256, so the signature covers every bit of it, and slot and shell, so an
image signed for one place is not signed for another. Keys are Ed25519 (RFC 8032), in PEM files; a board trusts the
public keys in one folder.

::

    python -m eddy.board.images.signing keygen release.key          # and release.key.pub
    python -m eddy.board.images.signing sign release.key build/bitstreams/tiny/*.json
    python -m eddy.board.images.signing verify keys/ build/bitstreams/tiny/*.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eddy.board.images.image_files import image_of, read_manifest
from eddy.core.errors import ImageRefused, InvalidRequest
from eddy.core.slots import Image
from eddy.host import logs
from eddy.host.trust import generate as generate
from eddy.host.trust import load_key as load_key
from eddy.host.trust import load_trusted_keys, verify_signature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


TENANTS = "tenants"
"""Folder below that of the trusted keys which has one folder a tenant, for images of its own."""
_CLAIMS_NOTHING = {field.name: field.default for field in dataclasses.fields(Image)}


def canonical(image: Image) -> bytes:
    """The bytes a signature is over."""
    fields = dataclasses.asdict(image)
    del fields["signature"]
    for name in ("scrub_build", "checked_build", "control"):
        # An image that claims nothing is signed as before there was anything to claim.
        if fields[name] == _CLAIMS_NOTHING[name]:
            del fields[name]
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def sign(image: Image, key: Ed25519PrivateKey) -> Image:
    """The same image with its signature."""
    return dataclasses.replace(image, signature=key.sign(canonical(image)).hex())


@dataclass(frozen=True)
class Trust:
    """Which images a board lets in.

    Attributes:
        required: Whether an image without a trusted signature is refused.
        keys: The public keys that are trusted.
        tenants: By tenant, the keys that are trusted for images of its own, in slots that it leases.
    """

    required: bool
    keys: tuple[Ed25519PublicKey, ...] = ()
    tenants: Mapping[str, tuple[Ed25519PublicKey, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls, required: bool, folder: Path | None) -> Trust:
        """Trust the keys in `folder/*.pub`, and for a tenant's own images those in `folder/tenants/TENANT/*.pub`.

        Raises:
            InvalidRequest: A file there holds no Ed25519 public key, or signatures are required and nobody is trusted.
        """
        keys = load_trusted_keys(folder)
        if required and not keys:
            raise InvalidRequest(
                f"this board loads signed images only, but {folder or 'no folder'} holds no trusted key;"
                " copy the signer's public key there, as <name>.pub",
                field="trusted_keys",
            )
        there = sorted((folder / TENANTS).glob("*/")) if folder else []
        return cls(required, keys, {each.name: load_trusted_keys(each) for each in there})

    def strip_unproven_claims(self, image: Image) -> Image:
        """The image, without its claims to be scrubbed by a reset and checked unless somebody trusted signed them.

        Where nobody is trusted, the folder of images is the operator's word.
        """
        claims = image.scrub_build or image.checked_build
        if not claims or not (self.keys or self.required) or self._vouched(image):
            return image
        return dataclasses.replace(image, scrub_build="", checked_build="")

    def _vouched(self, image: Image) -> bool:
        return verify_signature(self.keys, image.signature, canonical(image))

    def check(self, image: Image) -> None:
        """Refuse an image whose signature is required and not trusted.

        Raises:
            ImageRefused: Says whether the signature is missing or wrong.
        """
        if not self.required:
            return
        if not image.signature:
            raise ImageRefused(
                f"image {image.sha256[:12]} ({image.module}, slot {image.slot}) is not signed and this board requires"
                " it; sign its manifest with a key the board trusts",
                reason="unsigned",
            )
        if not self._vouched(image):
            raise ImageRefused(
                f"the signature of image {image.sha256[:12]} ({image.module}, slot {image.slot}) is not by a trusted"
                " key, or is over another manifest; sign it again or add the signer's public key to the trusted ones",
                reason="untrusted-signature",
            )

    def check_own(self, image: Image, tenant: str) -> None:
        """Refuse an image of a tenant's own that no key signed which is trusted for it, or whose check is not claimed.

        A signature is needed whatever the board's profile says.

        Raises:
            ImageRefused: Says what is missing.
        """
        name = f"image {image.sha256[:12]} ({image.module}, slot {image.slot})"
        if not image.signature:
            message = f"{name} is not signed; sign its manifest with a key that the operator trusts for {tenant}"
            raise ImageRefused(message, reason="unsigned")
        if not verify_signature(self.tenants.get(tenant, ()), image.signature, canonical(image)):
            raise ImageRefused(
                f"the signature of {name} is by no key that is trusted for {tenant}, or is over another manifest;"
                f" sign it again, or have the operator add the public key to {TENANTS}/{tenant} of the trusted keys",
                reason="untrusted-signature",
            )
        if not image.checked:
            raise ImageRefused(
                f"{name} does not say that its build passed the check of the slot contract; run `eddy module check`,"
                " build the image again, and sign it",
                reason="unchecked",
            )


def sign_manifest(path: Path, key: Ed25519PrivateKey) -> Image:
    """Put a signature into a manifest file, replacing the one that is there."""
    data = read_manifest(path)
    image = sign(image_of(data, path), key)
    data["signature"] = image.signature
    temporary = path.with_suffix(".tmp")
    try:
        temporary.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}", field="path") from None
    return image


def main(arguments: list[str] | None = None) -> int:
    """Make keys, sign manifests, check them."""
    parser = argparse.ArgumentParser(prog="python -m eddy.board.images.signing", description="Sign image manifests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("keygen").add_argument("key", type=Path)
    for name in ("sign", "verify"):
        command = commands.add_parser(name)
        command.add_argument("key", type=Path, help="private key" if name == "sign" else "folder of trusted *.pub")
        command.add_argument("manifests", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except (InvalidRequest, ImageRefused) as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 1
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.command == "keygen":
        generate(options.key)
        print(f"{options.key} (keep it secret), {options.key}.pub (give it to boards)")
        return
    for path in options.manifests:
        if options.command == "sign":
            image = sign_manifest(path, load_key(options.key))
        else:
            image = image_of(read_manifest(path), path)
            Trust.load(True, options.key).check(image)
        print(f"{options.command}: {image.module} slot {image.slot} {image.sha256[:12]} ok")


if __name__ == "__main__":
    logs.open_streams()
    sys.exit(main())
