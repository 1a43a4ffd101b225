# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Two readers of YAML, one quick: the same values, and nothing is nested too deep for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from eddy.packages import fields

FILES = sorted((Path(__file__).parents[3] / "bitstreams").rglob("*.yaml"))


def test_what_is_shipped_reads_the_same() -> None:
    assert len(FILES) > 20
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert fields.load_yaml(text) == yaml.safe_load(text), path


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\t- x", "a: !!python/object:os.system {}", "? [", "'"])
def test_what_is_wrong_is_said_as_the_other_reader_says_it(text: str) -> None:
    with pytest.raises(yaml.YAMLError) as quick:
        fields.load_yaml(text)
    with pytest.raises(yaml.YAMLError) as plain:
        yaml.safe_load(text)
    assert str(quick.value) == str(plain.value)


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "{a: " * 20_000, "- " * 20_000, "".join(" " * n + "-\n" for n in range(3000))]
)
def test_what_is_deep_is_left_to_the_reader_with_a_bound(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the quick reader was asked")

    monkeypatch.setattr(yaml, "load", refused)
    monkeypatch.setattr(yaml, "safe_load", len)
    assert fields.load_yaml(text) == len(text)
