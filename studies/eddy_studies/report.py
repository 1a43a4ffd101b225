# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a study leaves behind: data as CSV, pictures as PNG, and one table of our values beside the published ones."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One published value and ours.

    Attributes:
        figure: Where the document says it.
        what: What is measured, with its conditions.
        published: The document's value; "" where it gives none.
        ours: Ours.
        note: Whether the claim holds, or why the values differ.
    """

    figure: str
    what: str
    published: str
    ours: str
    note: str = ""


def write_rows(path: Path, rows: Sequence[Row], title: str) -> None:
    """The table as Markdown."""
    lines = [f"# {title}", "", "| where | what | published | ours | |", "|---|---|---|---|---|"]
    lines += [f"| {r.figure} | {r.what} | {r.published} | {r.ours} | {r.note} |" for r in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_csv(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    """Records with the same keys as a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
