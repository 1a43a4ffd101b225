# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""TLS of the server itself, settings from a file, and both read again while it serves."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from certificate_kit import make_certificate as make
from cryptography import x509
from cryptography.x509.oid import NameOID
from eddy.api.service.reload import LIVE, Reloader
from eddy.api.service.server import Server, ServerSettings
from eddy.api.service.tls import TlsFiles, is_plaintext
from eddy.cli.main import app
from eddy.cli.support import configuration
from eddy.core.errors import InvalidRequest, StorageFull
from eddy.host import signals
from eddy.settings import SETTINGS, Value
from typer.testing import CliRunner

BITSTREAMS = Path(__file__).parents[3] / "bitstreams"


def subject_of(server: Server) -> str:
    """Whose certificate a new connection is shown."""
    text = ssl.get_server_certificate((server.host, server.port), timeout=180)
    found = x509.load_pem_x509_certificate(text.encode()).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value)


def settings(folder: Path, tls: TlsFiles | None) -> ServerSettings:
    return ServerSettings("model", "tiny", "fcfs", folder / "data", BITSTREAMS, port=0, tls=tls)


def values(files: TlsFiles | None, **others: Value) -> dict[str, Value]:
    found: dict[str, Value] = {
        name: setting.default for name, setting in SETTINGS.items() if setting.read_by == "server"
    }
    if files is not None:
        found.update(tls_cert=str(files.certificate), tls_key=str(files.key))
    return {**found, **others}


def test_a_server_with_a_certificate_and_another_one_while_it_serves(tmp_path: Path) -> None:
    files = make(tmp_path, "first")
    now = values(files)
    reloader = Reloader(now, lambda: dict(now))
    built = Server(settings(tmp_path, TlsFiles.named(str(files.certificate), str(files.key))), reloader=reloader)
    with built.background() as server:
        assert server.url.startswith("https://127.0.0.1:")
        known = ssl.create_default_context(cafile=str(files.certificate))
        with httpx.Client(base_url=f"https://localhost:{server.port}", verify=known, timeout=180) as client:
            assert client.get("/healthz").status_code == 200
            key = server.key_file.read_text().strip()
            answer = client.post("/v1/session", json={"key": key})
            assert "secure" in answer.headers["set-cookie"].lower()
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{server.port}/healthz", timeout=180)
        assert subject_of(server) == "first"
        make(tmp_path, "second")
        files.key.write_text("no key")
        assert reloader.reload(server) == ([], [])
        assert subject_of(server) == "first", "what cannot be used changes nothing"
        make(tmp_path, "second")
        reloader.reload(server)
        assert subject_of(server) == "second"


class Parts:
    """A server, as far as reloading sees one."""

    def __init__(self, server: Any) -> None:
        self.context = server.context
        self.used: list[TlsFiles] = []

    def use_certificate(self, files: TlsFiles) -> None:
        self.used.append(files)


@pytest.fixture
def parts(tmp_path: Path) -> Any:
    server = Server(settings(tmp_path, None))
    yield Parts(server)
    server.close()


def test_what_may_change_does_and_what_may_not_is_named(parts: Any) -> None:
    new = values(
        None, page_size=7, max_output_bytes=1 << 30, max_uploads=3, log_level="info", port=9999, policy="nimblock"
    )
    reloader = Reloader(values(None), lambda: new)
    with structlog.testing.capture_logs() as said:
        live, others = reloader.reload(parts)
    assert set(live) == {"page_size", "max_output_bytes", "max_uploads", "log_level"} <= set(LIVE)
    assert set(others) == {"port", "policy"}
    context = parts.context
    assert (context.settings.page_size, context.settings.max_output_bytes) == (7, 1 << 30)
    assert (context.uploads.limits.uploads, context.uploads.limits.uploads_per_tenant) == (3, 8)
    (line,) = said
    assert (line["event"], line["needs_restart"]) == ("configuration reloaded", others)
    entry = context.store.audit.entries()[-1]
    assert (entry.action, entry.facts["page_size"]) == ("reload-configuration", 7)
    assert reloader.reload(parts) == ([], others), "they are named again, and nothing else changes"


def test_a_bad_file_keeps_everything_with_one_line(parts: Any, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    before = parts.context.settings
    reloader = Reloader(values(None), lambda: {**values(None), **configuration.read(file)})
    cases = {
        "page_size: [": "is no YAML",
        "page_size: many": "page_size is 'many'; it must be a whole number",
        "pagesize: 3": "there is no setting 'pagesize'",
        "page_size: 3\nlog_level: loud": "one of debug, info, warning, error",
        "- page_size": "has no settings",
        "page_size: true": "must be a whole number",
        "key: eddy_x": "there is no setting 'key'",
        f"page_size: {'9' * 5000}": "is no YAML",
        "{a: " * 3000: "is no YAML",
        "x" * (1 << 16) + ": 1": "settings take at most",
        "\0": "is no YAML",
        "page_size: 9\ntls_cert: /nowhere": "",
    }
    for text, why in cases.items():
        file.write_text(text)
        with structlog.testing.capture_logs() as said:
            live, restart = reloader.reload(parts)
        (line,) = said
        if why:
            assert line["event"].startswith("configuration kept as it was: ")
            assert why in line["event"]
            assert parts.context.settings == before
    assert (live, restart) == (["page_size"], ["tls_cert"]), "a server without TLS gets none before it is restarted"
    file.unlink()
    with structlog.testing.capture_logs() as said:
        reloader.reload(parts)
    assert "cannot be read" in said[0]["event"]
    os.mkfifo(file)
    with structlog.testing.capture_logs() as said:
        reloader.reload(parts)
    assert "is no file" in said[0]["event"]
    assert parts.used == []


def test_what_the_audit_log_cannot_hold_is_not_done_and_the_next_signal_counts(
    parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(Exception):
        """Something nobody foresaw."""

    reads: list[Callable[[], dict[str, Value]]] = []
    reloader = Reloader(values(None), lambda: reads.pop(0)())

    def odd() -> dict[str, Value]:
        raise Odd

    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    async def live() -> None:
        running = asyncio.create_task(reloader.run(parts))
        for read in (odd, lambda: values(None, page_size=3), lambda: values(None, page_size=4)):
            await asyncio.sleep(0)
            reads.append(read)
            with pytest.MonkeyPatch.context() as patch:
                if len(asked) == 1:
                    patch.setattr(type(parts.context.store.audit), "note", full)
                reloader.request_reload()
                while reads or not said[len(asked) :]:
                    await asyncio.sleep(0.01)
            asked.append(read)
        running.cancel()

    asked: list[object] = []
    with structlog.testing.capture_logs() as said:
        asyncio.run(asyncio.wait_for(live(), 180))
    assert [line["event"] for line in said] == [
        "the configuration could not be reloaded",
        "configuration kept as it was: the disk is full",
        "configuration reloaded",
    ]
    assert parts.context.settings.page_size == 4


def test_flags_and_environment_rank_above_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("port: 1\npage_size: 2\nheartbeat_s: 3\nprofile: tiny\n")
    monkeypatch.setenv("EDDY_PAGE_SIZE", "20")
    found: list[dict[str, Value]] = []

    def stop(context: Any, fresh: bool = False) -> dict[str, Value]:
        found.extend([real(context), real(context, fresh=True)])
        raise InvalidRequest("far enough")

    real = configuration.in_force
    monkeypatch.setattr(configuration, "in_force", stop)
    done = CliRunner().invoke(app, ["serve", "--config", str(file), "--port", "10", "--data", str(tmp_path / "d")])
    assert "far enough" in done.stderr
    for each in found:
        assert (each["port"], each["page_size"], each["heartbeat_s"], each["profile"]) == (10, 20, 3.0, "tiny")
    file.write_text("nonsense: 1")
    done = CliRunner().invoke(app, ["serve", "--config", str(file), "--data", str(tmp_path / "d")])
    assert (done.exit_code, "there is no setting 'nonsense'" in " ".join(done.stderr.split())) == (2, True), done.stderr


@pytest.mark.usefixtures("hearing_sighup")
def test_sighup_reloads_where_there_is_something_to_reload() -> None:
    calls = []
    with signals.catch_signals():
        with (
            signals.call_on_signal(lambda: calls.append("end")),
            signals.call_on_reload(lambda: calls.append("reload")),
        ):
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
        assert calls == ["reload", "end"]
    with signals.catch_signals(), signals.call_on_reload(None), signals.call_on_signal(lambda: calls.append("end")):
        signal.raise_signal(signal.SIGHUP)
    assert calls == ["reload", "end", "end"]


def test_a_running_server_is_asked_from_a_signal_handler(tmp_path: Path) -> None:
    read = threading.Event()

    def again() -> dict[str, Value]:
        read.set()
        return values(None)

    reloader = Reloader(values(None), again)
    reloader.request_reload()  # nothing runs yet
    with Server(settings(tmp_path, None), reloader=reloader).background():
        reloader.request_reload()
        assert read.wait(180)


@pytest.mark.parametrize("spoil", ["", "missing", "other", "text"])
def test_a_certificate_that_cannot_be_used_is_said_before_anything_is_built(tmp_path: Path, spoil: str) -> None:
    files = make(tmp_path, "first")
    if spoil == "missing":
        files.key.unlink()
    elif spoil == "other":
        (tmp_path / "o").mkdir()
        files.key.write_bytes(make(tmp_path / "o", "other").key.read_bytes())
    elif spoil == "text":
        files.certificate.write_text("hello")
    says = {
        "": "--tls-key is missing",
        "missing": "cannot be read",
        "other": "cannot be used",
        "text": "cannot be used",
    }
    key = [] if not spoil else ["--tls-key", str(files.key)]
    command = ["serve", "--board", "model", "--port", "0", "--data", str(tmp_path / "d"), "--tls-cert"]
    done = CliRunner().invoke(app, [*command, str(files.certificate), *key])
    assert (done.exit_code, says[spoil] in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "d").exists()


def test_what_a_network_can_read() -> None:
    tls = TlsFiles(Path("c"), Path("k"))
    assert [host for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9") if is_plaintext(host, None)] == []
    assert [host for host in ("0.0.0.0", "::", "10.0.0.2", "board.lab") if not is_plaintext(host, None)] == []
    assert not is_plaintext("0.0.0.0", tls)
