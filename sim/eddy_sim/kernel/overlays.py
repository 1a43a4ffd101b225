# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Device-tree overlays of a faked kernel: folders of configfs, each with the files `dtbo`, `path` and `status`.

The kernel applies what was written to `dtbo` when the file is closed, so a writer never gets an errno: what was not
taken reads back empty, and `status` stays `unapplied`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial

from eddy_sim.kernel.filesystem import File

MAGIC = 0xD00DFEED
"""How a flattened device tree begins (Ref: Devicetree Specification v0.4, 5.2)."""
_HEAD = struct.Struct(">II")


class Overlays:
    """What is in place.

    Args:
        changed: Told after every change.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._blobs: dict[str, bytes] = {}
        self.unresolved = False
        """Whether the base device tree lacks the labels that overlays name: none is applied then."""

    def make(self, name: str) -> Mapping[str, File]:
        """The files of a new folder."""
        return {
            "dtbo": File(lambda: self._blobs.get(name, b""), partial(self._apply, name)),
            "path": File(lambda: b"\n"),
            "status": File(lambda: b"applied\n" if name in self._blobs else b"unapplied\n"),
        }

    def remove(self, name: str) -> None:
        """A folder was removed, and what it had applied is undone."""
        self._blobs.pop(name, None)
        self._changed()

    def has(self, node: bytes) -> bool:
        """Whether an overlay in place has a node of a name."""
        return any(node in blob for blob in self._blobs.values())

    def _apply(self, name: str, blob: bytes) -> None:
        whole = len(blob) >= _HEAD.size and _HEAD.unpack_from(blob) == (MAGIC, len(blob))
        if whole and not self.unresolved and name not in self._blobs:
            self._blobs[name] = blob
            self._changed()
