# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The notebooks run from top to bottom in a Jupyter kernel, against the simulated board, and draw what they promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from nbclient import NotebookClient
from unit.gpu_kit import CACHE

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]
ROOT = Path(__file__).parents[3]
NOTEBOOKS = ROOT / "docs" / "notebooks"
DRAWN = {
    "first-job": ["<progress>", "3 of 3 items", "<svg", "image/png"],
    "first-kernel": ["<progress>", "item 3: 1.50", "<svg", "speedup over one core"],
    "operators-day": ["<progress>", "<svg", "image_compression", "kernel:square", "under entitlement"],
}
"""What must be among a notebook's outputs."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("data")
    settings = ServerSettings("rtl", "kv260", "eddy", data, ROOT / "bitstreams", port=0, kernel_cache=CACHE)
    with Server(settings).background() as running:
        yield running


def outputs(notebook: Any) -> list[str]:
    """Every output as text, and the kind of each."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found += [output.get("text", "")]
            for kind, data in output.get("data", {}).items():
                found += [kind, str(data), "<progress>" if "<b>Job" in str(data) and "items" in str(data) else ""]
    return found


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
def test_a_notebook_runs_and_draws(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = server.key_file.read_text().strip()
    if name != "operators-day":
        with Client(server.url, key) as operator:
            key = operator.add_tenant(name)["key"]
    monkeypatch.setenv("EDDY_URL", server.url)
    monkeypatch.setenv("EDDY_KEY", key)
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, startup_timeout=180, kernel_name="python3").execute()
    shown = "\n".join(outputs(notebook))
    for what in DRAWN[name]:
        assert what in shown
    assert "Traceback" not in shown
