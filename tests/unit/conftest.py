# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every unit test gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from contract.fake_fabric import FakeFabric
from eddy.board.images.images import ImageStore


@pytest.fixture(autouse=True)
def closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fabrics and image stores that a test puts together and leaves open are closed when it ends."""
    made: list[Any] = []
    for kind in (FakeFabric, ImageStore):
        monkeypatch.setattr(kind, "__init__", _remembering(kind.__init__, made))
    yield
    for each in made:
        each.close()


def _remembering(init: Any, made: list[Any]) -> Any:
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        made.append(self)

    return wrapped
