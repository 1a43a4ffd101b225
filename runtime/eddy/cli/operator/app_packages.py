# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy app`: application packages: keys to sign them with, signatures, and adding them to a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import errors_in_one_line, print_status, write_text
from eddy.core.errors import InvalidRequest

app = typer.Typer(help="Application packages: sign them, check them, add them.", no_args_is_help=True)
Package = Annotated[Path, typer.Argument(metavar="PACKAGE", help="Its file, YAML or JSON.")]


@app.command("keygen")
def keygen(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Private key to write; the public one has .pub appended.")
    ],
) -> None:
    """Make a key pair to sign with."""
    from eddy.host.trust import generate

    with errors_in_one_line():
        generate(path)
    print_status(f"{path} (keep it secret), {path}.pub (give it to servers that shall trust it)")


@app.command("sign")
def sign(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="Private key, as `eddy app keygen` makes one.")],
    package: Package,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the signed package goes, as JSON.")],
) -> None:
    """Sign a package."""
    from eddy.packages.signatures import signed

    with errors_in_one_line():
        whole = signed(_read(package), key)
        write_text(out, json.dumps(whole, indent=2) + "\n")
    print_status(f"{out}: application {whole['application']}, signed")


@app.command("verify")
def verify(
    keys: Annotated[Path, typer.Argument(metavar="KEYS", help="Folder of trusted keys, *.pub.")], package: Package
) -> None:
    """Check a package's signature, as a server with these keys does."""
    from eddy.packages.signatures import REFUSE, PackageTrust, parse_package

    with errors_in_one_line():
        application, signature = parse_package(_read(package))
        PackageTrust.load(str(keys), REFUSE).check(application, signature)
    print_status(f"application {application.name}: signed by a trusted key")


@app.command("add")
@asks_server
def add(client: Client, package: Package) -> Answer:
    """Add an application to a server (the operator's key is needed)."""
    found = client.add_app(_read(package))
    yield found
    print_status(f"application {found['name']} is there")


def _read(package: Path) -> dict[str, Any]:
    from eddy.packages import fields

    found = fields.read_yaml(package)
    if not isinstance(found, dict):
        message = f"{package} is no application: it has no `application:`, `buffers:` and `tasks:`"
        raise InvalidRequest(message, field="application")
    return found
