# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every test has."""

from __future__ import annotations

import functools
import gc
import logging
import os
import signal
import ssl
from collections.abc import Generator, Iterator
from importlib import metadata
from typing import Any

import httpx
import pytest
import typer.main
import typer.testing
from eddy.host import logs
from eddy.host.memory_tuning import pause_collection
from hypothesis import HealthCheck, settings
from mutants_kit import skip_found

settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
"""No test is timed, and a run finds what the last one found; `--hypothesis-profile=default` looks at other examples."""


@functools.cache
def _command(app: typer.Typer, _entry_points: object) -> Any:
    return typer.main.get_command(app)


def _get_command(app: typer.Typer) -> Any:
    """What `CliRunner` calls: all commands of all groups are made once, not a tenth of a second for each call. Others
    may register some."""
    return _command(app, metadata.entry_points)


typer.testing._get_command = _get_command  # type: ignore[attr-defined, assignment]


@functools.cache
def _trusted(_file: str | None, _folder: str | None, _create: object) -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _create_ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """httpx's, with the system's certificates read once: each client reads them again, for plain HTTP too."""
    if verify is True and cert is None and trust_env:
        return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"), ssl.create_default_context)
    return httpx.create_ssl_context(verify, cert, trust_env)


httpx._transports.default.create_ssl_context = _create_ssl_context  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_found(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half a million objects of eight thousand tests stay to the end: no search for garbage looks at them."""
    with pause_collection():
        done = yield
        gc.freeze()
    return done


@pytest.fixture(autouse=True)
def _log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the log back as it was: a server run inside a test configures it for the whole process."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    monkeypatch.setattr(logs, "_form", logs._form)
    yield
    root.setLevel(level)
    for handler in [*root.handlers]:
        if handler not in handlers and type(handler).__module__ == logs.__name__:
            root.removeHandler(handler)


@pytest.fixture
def hearing_sighup() -> Iterator[None]:
    """SIGHUP as a terminal has it: whoever started the tests may have it ignored (`nohup`)."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
