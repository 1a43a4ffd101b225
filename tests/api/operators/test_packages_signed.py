# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Application packages are signed: what nobody trusted signed is not added, and not offered where it was put there."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from eddy.cli.main import app
from eddy.core.errors import InvalidRequest, PackageRefused
from eddy.host.trust import generate, load_key, verify_signature
from eddy.packages.catalogue import CatalogueInForce, load_catalogue
from eddy.packages.signatures import PackageTrust, canonical, parse_package, signed
from typer.testing import CliRunner

BITSTREAMS = Path(__file__).parents[3] / "bitstreams"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with one trusted key; `release.key` lies next to it."""
    generate(tmp_path / "release.key")
    generate(tmp_path / "mallory.key")
    folder = tmp_path / "trusted"
    folder.mkdir()
    (folder / "release.pub").write_bytes((tmp_path / "release.key.pub").read_bytes())
    return folder


def trusting(server: Any, keys: Path, unsigned: str = "refuse") -> None:
    server.app.state.context.catalogue._trust = PackageTrust.load(str(keys), unsigned)


def renamed(package: dict[str, Any]) -> dict[str, Any]:
    return {**package, "application": "again"}


@pytest.mark.anyio
async def test_only_what_a_trusted_key_signed_is_added(
    server: Any, package: dict[str, Any], keys: Path, tmp_path: Path
) -> None:
    trusting(server, keys)
    good = signed(renamed(package), tmp_path / "release.key")
    cases = [
        (renamed(package), "unsigned"),
        (signed(renamed(package), tmp_path / "mallory.key"), "untrusted-signature"),
        ({**good, "max_batch": 3}, "untrusted-signature"),
        ({**good, "application": "another"}, "untrusted-signature"),
        ({**good, "signature": "00" * 64}, "untrusted-signature"),
    ]
    async with server.client("operator") as client:
        for body, reason in cases:
            answer = await client.post("/v1/apps", json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "package-refused")
            assert answer.json()["reason"] == reason
        assert (await client.post("/v1/apps", json={**good, "signature": "no hex"})).json()["code"] == "invalid-request"
        assert len((await client.get("/v1/apps")).json()["apps"]) == 1, "none of them was added"
        assert (await client.post("/v1/apps", json={**good, "summary": "not signed"})).status_code == 201
        assert (await client.post("/v1/apps", json=good)).status_code == 200
    assert server.store.audit.entries()[-1].facts["signed"] is True


@pytest.mark.anyio
async def test_where_unsigned_ones_are_allowed_a_wrong_signature_is_not(
    server: Any, package: dict[str, Any], keys: Path, tmp_path: Path
) -> None:
    trusting(server, keys, "allow")
    async with server.client("operator") as client:
        forged = signed(renamed(package), tmp_path / "mallory.key")
        assert (await client.post("/v1/apps", json=forged)).json()["code"] == "package-refused"
        assert (await client.post("/v1/apps", json=renamed(package))).status_code == 201


def test_what_lies_in_the_folder_counts_at_the_next_start_only_with_a_trusted_signature(
    keys: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, trust = tmp_path / "added", PackageTrust.load(str(keys), "refuse")
    folder.mkdir()
    shipped = load_catalogue(BITSTREAMS)
    raw = yaml.safe_load((BITSTREAMS / "applications" / "image_compression.yaml").read_text())
    good, bad = {**raw, "application": "mine"}, {**raw, "application": "slipped_in"}
    CatalogueInForce(shipped, folder, trust).add(signed(good, tmp_path / "release.key"))
    (folder / "slipped_in.json").write_text(json.dumps(bad))
    with caplog.at_level(logging.ERROR):
        found = load_catalogue(BITSTREAMS, folder, trust)
    assert set(found.applications) == {*shipped.applications, "mine"}, "what ships is trusted"
    assert "slipped_in.json is not offered" in caplog.text
    assert "slipped_in" in load_catalogue(BITSTREAMS, folder).applications, "without a trust store nothing is asked for"


def test_a_signature_is_over_the_application_whatever_its_file(
    package: dict[str, Any], keys: Path, tmp_path: Path
) -> None:
    whole = signed(package, tmp_path / "release.key")
    application, signature = parse_package(yaml.safe_load(yaml.safe_dump(whole)))
    trust = PackageTrust.load(str(keys), "refuse")
    trust.check(application, signature)
    assert canonical(application).startswith(b"eddy application package\n")
    assert b"picture" not in canonical(application), "what was signed before buffers said so stays signed"
    other = load_key(tmp_path / "release.key").sign(canonical(application)[1:]).hex()
    assert not verify_signature(trust.keys, other, canonical(application))
    with pytest.raises(PackageRefused):
        trust.check(application, "")
    with pytest.raises(InvalidRequest, match="signature is text"):
        parse_package({**package, "signature": 7})


def test_a_trust_store_without_a_key_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    command = [
        "serve",
        "--board",
        "model",
        "--data",
        str(tmp_path / "d"),
        "--trusted-packages",
        str(tmp_path / "empty"),
    ]
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, "holds no key" in done.stderr) == (2, True), done.stderr


def test_the_commands(package: dict[str, Any], keys: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    file, out = tmp_path / "p.yaml", tmp_path / "p.json"
    file.write_text(yaml.safe_dump(package))
    assert run(app, ["app", "keygen", str(tmp_path / "new.key")]).exit_code == 0
    assert run(app, ["app", "keygen", str(tmp_path / "new.key")]).exit_code == 2
    assert run(app, ["app", "verify", str(keys), str(file)]).exit_code == 2
    assert run(app, ["app", "sign", str(tmp_path / "release.key"), str(file), "--out", str(out)]).exit_code == 0
    assert run(app, ["app", "verify", str(keys), str(out)]).exit_code == 0
    done = run(app, ["app", "sign", str(tmp_path / "new.key"), str(out), "-o", str(out)])
    assert done.exit_code == 0, done.stderr
    assert "is not by a trusted key" in run(app, ["app", "verify", str(keys), str(out)]).stderr
