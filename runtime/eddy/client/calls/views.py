# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Answers of the server that draw themselves in a notebook; to programs they are what they were: lists and dicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from eddy.client import answers
from eddy.client.calls import pictures

T = TypeVar("T")


class Listing(list[T]):
    """What a list of the server's has.

    Args:
        found: What it shows.
        damaged: Names of what belongs there too, and whose records cannot be read.
    """

    def __init__(self, found: Iterable[T] = (), damaged: Iterable[int | str] = ()) -> None:
        super().__init__(found)
        self.damaged = list(damaged)


class JobList(Listing[answers.Job]):
    """Jobs as `GET /v1/jobs` gives them."""

    def _repr_html_(self) -> str:
        return pictures.jobs(self)


class MarketView(dict[str, Any]):
    """What `GET /v1/market` gives."""

    def _repr_html_(self) -> str:
        return pictures.market(self)


@dataclass(frozen=True, slots=True)
class Timeline:
    """What slots did of late.

    Attributes:
        spans: Loads and items, as `GET /v1/overview` gives them.
        slots: Indices of the slots.
    """

    spans: tuple[answers.Span, ...]
    slots: tuple[int, ...]

    @staticmethod
    def of(overview: answers.Overview, job: int | None = None) -> Timeline:
        """From an overview; of one job, or of all that are in it."""
        spans = [span for span in overview["spans"] if job in (None, span["job"])]
        return Timeline(tuple(spans), tuple(slot["slot"] for slot in overview["slots"]))

    def _repr_html_(self) -> str:
        return pictures.timeline(self.spans, self.slots)
