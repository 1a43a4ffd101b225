"""Signatures over image manifests: identity says what is in a slot, signatures say whether it may be.

What is signed is the manifest's canonical form: the fields of `Image` without the signature, as JSON with sorted keys,
no spaces, UTF-8. It names the file by its SHA-256, so the signature covers every bit of it, and slot and shell, so an
image signed for one place is not signed for another. Keys are Ed25519 (RFC 8032), in PEM files; a board trusts the
public keys in one folder.

::

    python -m eddy.board.signing keygen release.key          # and release.key.pub
    python -m eddy.board.signing sign release.key build/bitstreams/tiny/*.json
    python -m eddy.board.signing verify keys/ build/bitstreams/tiny/*.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eddy.board.image_files import image_of, read_manifest
from eddy.core.errors import ImageRefused, InvalidRequest
from eddy.core.slots import Image

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def canonical(image: Image) -> bytes:
    """The bytes a signature is over."""
    fields = dataclasses.asdict(image)
    del fields["signature"]
    if not fields["scrub_build"]:
        # An image that claims nothing is signed as before there was anything to claim.
        del fields["scrub_build"]
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
    """

    required: bool
    keys: tuple[Ed25519PublicKey, ...] = ()

    @classmethod
    def load(cls, required: bool, folder: Path | None) -> Trust:
        """Trust the keys in `folder/*.pub`.

        Raises:
            InvalidRequest: A file there holds no Ed25519 public key, or signatures are required and nobody is trusted.
        """
        keys = tuple(_public_key(path) for path in sorted(folder.glob("*.pub"))) if folder else ()
        if required and not keys:
            raise InvalidRequest(
                f"this board loads signed images only, but {folder or 'no folder'} holds no trusted key;"
                " copy the signer's public key there, as <name>.pub",
                field="trusted_keys",
            )
        return cls(required, keys)

    def vetted(self, image: Image) -> Image:
        """The image, without its claim to be scrubbed by a reset unless somebody trusted signed that.

        Where nobody is trusted, the folder of images is the operator's word.
        """
        if not image.scrub_build or not (self.keys or self.required) or self._vouched(image):
            return image
        return dataclasses.replace(image, scrub_build="")

    def _vouched(self, image: Image) -> bool:
        return any(_verifies(key, image) for key in self.keys)

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


def _verifies(key: Ed25519PublicKey, image: Image) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(bytes.fromhex(image.signature), canonical(image))
    except (InvalidSignature, ValueError):
        return False
    return True


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(path.read_bytes())
    except ValueError as error:
        raise InvalidRequest(f"{path} is not a public key in PEM form: {error}", field="trusted_keys") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidRequest(f"{path} holds a {type(key).__name__}; Eddy uses Ed25519", field="trusted_keys")
    return key


def generate(path: Path) -> None:
    """Make a key pair: `path` (readable by its owner only) and `path` with `.pub` appended.

    Raises:
        InvalidRequest: The file exists, for keys are never overwritten; or it cannot be written.
    """
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    public = key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
    except FileExistsError:
        raise InvalidRequest(f"{path} exists; a key is never overwritten", field="path") from None
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}", field="path") from None
    try:
        Path(f"{path}.pub").write_bytes(public)
    except OSError as error:
        path.unlink()  # a private key without its public half serves nobody, and would stand in the way
        raise InvalidRequest(f"{path}.pub cannot be written: {error.strerror}", field="path") from None


def load_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Raises:
        InvalidRequest: The file holds none.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field="key") from None
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"{path} is not an unencrypted private key in PEM form: {error}", field="key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidRequest(f"{path} holds a {type(key).__name__}; Eddy uses Ed25519", field="key")
    return key


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
    parser = argparse.ArgumentParser(prog="python -m eddy.board.signing", description="Sign image manifests.")
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
    sys.exit(main())
