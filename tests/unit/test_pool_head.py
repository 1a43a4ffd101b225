"""A head takes part in deciding from its start to its end, however it ends."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import MagicMock

import pytest
from eddy.pool import head
from eddy.pool.head import create_head


class Running:
    """What decides; says when it runs, and that it was ended."""

    def __init__(self, said: list[str], name: str) -> None:
        self._said, self._name = said, name

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._said.append(f"{self._name} ended")


class Deciding(Running):
    """A lead with a lease."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(said, "lead")
        self.mirror, self.seen, self.lease = MagicMock(), MagicMock(), self

    async def give_up(self) -> None:
        self._said.append("lease given up")


@pytest.mark.parametrize("fails", [False, True], ids=["its end", "its start fails"])
def test_what_decides_ends_and_the_lease_is_given_up(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(head, "Gate", lambda *_: Running(said, "gate"))

    async def beside() -> None:
        await asyncio.sleep(0)
        said.append("started")
        if fails:
            raise OSError("nobody reads what it says")

    async def run(lead: Any) -> None:
        app = create_head(MagicMock(), lead, MagicMock(), MagicMock(), beside=beside)
        async with app.router.lifespan_context(app):
            said.append("serves")

    if fails:
        with pytest.raises(OSError, match="nobody reads"):
            asyncio.run(run(Deciding(said)))
    else:
        asyncio.run(run(Deciding(said)))
    assert sorted(said[:-1]) == sorted(["started", *(["serves"] if not fails else []), "gate ended", "lead ended"])
    assert (said[0], said[-1]) == ("started", "lease given up")
