# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor kit's application and modules as files, for tests that start a whole server."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml
from eddy.packages.manifests import load_module_manifest
from eddy_sim.modcheck.records import record_check
from hypervisor_kit import BYTES

POINTERS = {
    "in": {"offset": 0x10, "width": 64, "kind": "pointer", "access": "r"},
    "out": {"offset": 0x1C, "width": 64, "kind": "pointer", "access": "w"},
}
EXTRA: dict[str, dict[str, Any]] = {
    "rotate": {"by": {"offset": 0x28, "width": 32, "kind": "scalar"}},
    "mix": {"key": {"offset": 0x28, "width": 64, "kind": "pointer", "access": "r"}},
    "flip": {},
}
_TASKS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("rotate", "in", "a", {"by": 3}),
    ("mix", "a", "b", {"key": "key"}),
    ("flip", "b", "out", {}),
)
_ROLES = {"in": "input", "a": "intermediate", "b": "intermediate", "key": "constant", "out": "output"}


def package(folder: Path, unchecked: Collection[str] = ()) -> Path:
    """The kit's application and modules as a `bitstreams/` directory; of some no check is on record."""
    for module, extra in EXTRA.items():
        manifest = {"module": module, "kind": "hls", "files": "x.f", "register_map": "1.0", "clk_hz": 1e8}
        (folder / module).mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump({**manifest, "registers": {**POINTERS, **extra}})
        (folder / module / "manifest.yaml").write_text(text)
        if module not in unchecked:
            record_check(folder / module, load_module_manifest(folder / module), "0123456789abcdef", passed=True)
    chain = {
        "application": "chain",
        "buffers": {name: {"role": role, "dtype": "u1", "shape": [BYTES]} for name, role in _ROLES.items()},
        "tasks": [
            {"name": name, "arguments": {"in": source, "out": sink, **more}, "estimate_us": 1000, "time_limit_ms": 100}
            for name, source, sink, more in _TASKS
        ],
        "edges": [["rotate", "mix"], ["mix", "flip"]],
    }
    (folder / "applications").mkdir(exist_ok=True)
    (folder / "applications" / "chain.yaml").write_text(yaml.safe_dump(chain))
    return folder
