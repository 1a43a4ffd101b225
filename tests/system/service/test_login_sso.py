# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy login --sso` against a whole server and a real provider: the browser is followed as a browser would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from bitstreams_kit import package
from blocks_kit import ROOT, until
from doc_session import read_blocks
from eddy.api.access.identity_provider import OidcSettings
from eddy.api.access.roles import RoleRules
from eddy.api.dependencies.context import ApiSettings
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app
from eddy.cli.support import contexts
from eddy.client import Client
from hypervisor_kit import model_board
from provider_kit import CLIENT, SECRET, Provider
from typer.testing import CliRunner

PAGE = ROOT / "docs/how-to/sign-on.md"


def serve(folder: Path, provider: Provider, port: int) -> Server:
    (folder / "secret").write_text(SECRET)
    rules = RoleRules.parse("groups", "lab", "", "")
    here = f"http://127.0.0.1:{port}"
    oidc = OidcSettings(provider.issuer, CLIENT, str(folder / "secret"), public_url=here, rules=rules)
    bitstreams = package(folder / "bitstreams")
    settings = ServerSettings(
        "model", "tiny", "fcfs", folder / "data", bitstreams, port=port, api=ApiSettings(oidc=oidc)
    )
    return Server(settings, board=model_board())


def commands_of_the_page() -> list[list[str]]:
    """What docs/how-to/sign-on.md types, without the command's name."""
    lines = read_blocks(PAGE)[1].text.splitlines()
    assert all(line.startswith("eddy login --sso") for line in lines)
    return [line.split()[1:] for line in lines]


def without_a_browser(command: list[str], told: list[str], browse: Callable[[str], bool]) -> Any:
    """Type it, and open the address that it prints; how it ended."""
    with ThreadPoolExecutor(1) as pool:
        typed = pool.submit(CliRunner().invoke, app, command)
        until(lambda: told or typed.done())
        browse(told[0].rpartition(" ")[2])
        return typed.result()


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_command_line_logs_in_and_a_browser_stays_logged_in_over_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(contexts.ENVIRONMENT, str(tmp_path / "contexts.json"))
    opened: list[str] = []

    def browse(address: str) -> bool:
        def follow() -> None:
            with httpx.Client(follow_redirects=True) as browser:
                opened.append(browser.get(address).text)

        threading.Thread(target=follow, daemon=True).start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    port = free_port()
    with Provider() as provider, httpx.Client(base_url=f"http://127.0.0.1:{port}") as browser:
        with serve(tmp_path, provider, port).background() as server:
            told: list[str] = []
            monkeypatch.setattr("eddy.cli.support.browser_login.print_status", told.append)
            for command in reversed(commands_of_the_page()):
                if "--no-browser" in command:
                    done = without_a_browser([*command, "--url", server.url], told, browse)
                else:
                    done = CliRunner().invoke(app, [*command, "--url", server.url])
                # Who is an operator acts for no tenant.
                assert (done.exit_code, "none of your groups" in done.output) == (
                    (4, True) if "--tenant" in command else (0, False)
                ), done.output
            kept = contexts.load().now
            assert kept is not None
            with Client(kept.url, kept.key) as client:
                assert client.who_am_i() == {"tenant": "operator", "operator": True, "csrf_token": ""}
                assert client.keys()[-1]["label"] == "sign-on: ada 42"
            back = browser.get("/v1/session/sign-on").headers["location"]
            answer = browser.get(httpx.get(back).headers["location"])
            assert urlsplit(answer.headers["location"]).path == "/"
            before = browser.get("/v1/session").json()
            assert before["operator"] is True
        with serve(tmp_path, provider, port).background():
            assert browser.get("/v1/session").json() == before
    assert "The command line has it now" in opened[0]
