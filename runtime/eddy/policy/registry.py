# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Policies by name: Eddy's own, and those that other distributions register."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from eddy.core.errors import InvalidRequest

Policy = TypeVar("Policy")


class Policies(Mapping[str, Callable[..., Policy]], Generic[Policy]):
    """Name to what makes the policy, Eddy's own first.

    Another distribution's is a line in its `pyproject.toml`, `NAME = "MODULE:FUNCTION"`, below
    `[project.entry-points."GROUP"]`. It is imported when it is first asked for. It cannot replace one of Eddy's.

    Args:
        group: Of entry points: `eddy.place_policies`, `eddy.price_policies` or `eddy.dispatch_policies`.
    """

    def __init__(self, group: str, own: Mapping[str, Callable[..., Policy]]) -> None:
        self._group, self.own = group, own
        self._found: dict[str, EntryPoint] | None = None

    def __getitem__(self, name: str) -> Callable[..., Policy]:
        """What makes a policy."""
        if name in self.own:
            return self.own[name]
        made: Any = self._registered()[name].load()
        policy: Callable[..., Policy] = made
        return policy

    def make(self, name: str, field: str = "policy", others: Sequence[str] = ()) -> Policy:
        """The policy of a name.

        Args:
            name: As `--policy` or `--price` takes it.
            others: What the field may be besides.

        Raises:
            InvalidRequest: There is none; names the field, and what it may be.
        """
        if name not in self:
            more = "" if self._registered() else "; `pip install ./studies` in a clone adds more"
            raise InvalidRequest(
                f"There is no policy {name!r} here{more}.", field=field, allowed=[*others, *sorted(self)]
            )
        return self[name]()

    def __contains__(self, name: object) -> bool:
        """Whether there is one, without importing it."""
        return name in self.own or name in self._registered()

    def __iter__(self) -> Iterator[str]:
        """Names."""
        yield from self.own
        yield from (name for name in sorted(self._registered()) if name not in self.own)

    def __len__(self) -> int:
        """How many there are."""
        return len({*self.own, *self._registered()})

    def _registered(self) -> dict[str, EntryPoint]:
        """What is registered, read once: it takes 20 ms."""
        if self._found is None:
            self._found = {each.name: each for each in entry_points(group=self._group)}
        return self._found
