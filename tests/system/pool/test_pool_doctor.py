# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool doctor` on bytes and heads: what lies there beside what is referred to, and who answers."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from eddy.cli.main import app
from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.head import app as head_app
from eddy.pool.head.head_server import Head
from eddy.pool.jetstream.byte_accounts import LEFT_S, OWNER
from eddy.pool.routes.context import HeadParts
from pool_boards import file_of
from pool_kit import Pool, asking, in_its_loop
from typer.testing import CliRunner


def found(pool: Pool, head: Head, *more: str) -> dict[str, list[dict[str, Any]]]:
    """Findings by check."""
    said = CliRunner().invoke(app, ["pool", "doctor", "--url", head.url, "--key", pool.key, "--json", *more])
    findings = json.loads(said.output)["findings"]
    assert said.exit_code == (not all(each["ok"] for each in findings))
    return {check: [each for each in findings if each["check"] == check] for check in {f["check"] for f in findings}}


def file_at(head: Head, sha: str) -> Path:
    async def where(parts: HeadParts) -> Path:
        account = await parts.link.accounts.of("ada")
        return file_of(parts.link, BlobName("ada", sha, account.blobs[sha][OWNER].at))

    path: Path = in_its_loop(head, where)
    return path


def test_what_is_wrong_with_bytes_is_found_and_with_heads(pool: Pool) -> None:
    head = pool.head("a")
    with patch.object(head_app, "version", lambda: "0.0.1"):
        pool.head("old")
        pool.tenant(head)
        contents = [os.urandom(1000 + n) for n in range(4)]
        names = [hashlib.sha256(data).hexdigest() for data in contents]
        with asking(head.url, pool.keys["ada"]) as ada:
            for name, data in zip(names, contents, strict=True):
                assert ada.put(f"/v1/blobs/{name}", content=data).status_code == 201
            well = found(pool, head, "--read")
            (there,) = well["bytes"]
            assert (there["ok"], there["found"].split(" in ")[0]) == (True, "4 blobs")
            assert [(each["ok"], each["found"]) for each in well["read"]] == [(True, "4 blobs are what they should be")]
            (versions,) = well["versions"]
            assert not versions["ok"]
            assert "head old 0.0.1" in versions["found"]
        files = [file_at(head, name) for name in names]
        files[0].unlink()
        files[1].write_bytes(b"short")
        kept = files[2].stat()
        files[2].write_bytes(bytes(len(contents[2])))
        os.utime(files[2], ns=(kept.st_atime_ns, kept.st_mtime_ns))  # nothing but its bytes tells
        old_s = time.time() - 2 * LEFT_S
        stray = files[3].with_name(f"{'0' * 64}.{'1' * 16}")
        draft = files[3].parents[1] / "incoming" / "left.draft"
        for each in (stray, draft):
            each.write_bytes(b"x")
            os.utime(each, (old_s, old_s))
        wrong = {each["found"] for each in found(pool, head)["bytes"] if not each["ok"]}
        place = files[3].parents[2]
        assert wrong == {
            *(f"blob {name} of ada is lost, or a part of it" for name in names[:2]),
            f"1 blobs in {place} are nobody's",
            f"1 files in {place} were on their way when a head was killed",
        }
        read = {each["found"] for each in found(pool, head, "--read")["read"]}
        assert read == {f"blob {name} of ada is damaged or lost" for name in names[:3]}
        away = place.rename(place.with_name("away"))
        (told,) = found(pool, head)["bytes"]
        assert not told["ok"]
        assert "does not answer" in told["found"]
        away.rename(place)
