# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Names in any script: what is taken, in which form it is kept, and how wide it is on a terminal."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from eddy.cli.support.output import escape_terminal, print_facts
from eddy.core import names

WORDS = {
    "Latin": "Größe",
    "Latin, in parts": unicodedata.normalize("NFD", "Ångström"),
    "Vietnamese": "Tiếng-Việt",
    "Greek": "Άλφα",
    "Cyrillic": "проект",
    "Armenian": "նախագիծ",
    "Hebrew": "פרויקט",
    "Arabic": "مشروع",
    "Persian, with a joiner": "می\u200cخواهم",
    "Devanagari": "परियोजना",
    "Bengali": "প্রকল্প",
    "Tamil": "திட்டம்",
    "Sinhala, with a joiner": "ශ්\u200dරී",
    "Thai": "โครงการ",
    "Georgian": "პროექტი",
    "Ethiopic": "ፕሮጀክት",
    "Khmer": "គម្រោង",
    "Chinese": "项目",
    "Japanese": "プロジェクト",
    "Korean, in parts": unicodedata.normalize("NFD", "프로젝트"),
    "digits of another script": "١٢٣",
    "beyond the first plane": "𠮷野家",
    "ASCII": "run-7/a.b_c",
}
STEERS = {
    **{f"U+{code:04X}": chr(code) for code in (0, 7, 9, 10, 13, 0x1B, 0x7F, 0x80, 0x9F, 0xAD)},
    **{f"U+{code:04X}": chr(code) for code in (0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2060, 0x2066)},
    **{f"U+{code:04X}": chr(code) for code in (0x2069, 0xFEFF, 0xFFF9, 0xE0041, 0xE000, 0xFFFF, 0x0378, 0xA0, 0x2003)},
    "half of a pair": "\ud800",
}


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS)
def test_words_of_every_script_are_names_and_values_in_one_form(word: str) -> None:
    whole = unicodedata.normalize("NFC", word)
    for form in ("NFC", "NFD"):
        typed = unicodedata.normalize(form, word)
        assert names.label_name(typed) == names.label_value(typed) == names.normalize_text(typed) == whole
        assert names.label_pair(f"{typed}={typed}") == (whole, whole)
    assert escape_terminal(whole) == whole, "a terminal is given it as it is"


@pytest.mark.parametrize("sign", STEERS.values(), ids=STEERS)
def test_what_steers_hides_or_is_no_character_is_refused(sign: str) -> None:
    for text in (f"a{sign}b", f"{sign}a", f"a{sign}", f"ж{sign}ж"):
        for form in (names.label_name, names.label_value):
            with pytest.raises(ValueError, match="must"):
                form(text)
        with pytest.raises(ValueError, match="NAME=VALUE; its value"):
            names.label_pair(f"name={text}")


def test_no_character_that_is_taken_is_one_that_steers_and_no_letter_is_left_out() -> None:
    """All of Unicode: values take what is printable, names letters, marks and digits; neither takes the rest."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        text = f"a{names.normalize_text(character)}a"
        takes = category[0] in "LMNPS" or character in names.SPACES + names.JOINERS
        named = category[0] in "LM" or category == "Nd" or character in names.SIGNS + names.JOINERS
        for form, wanted in ((names.label_value, takes), (names.label_name, named)):
            try:
                found = form(text)
            except ValueError:
                assert not wanted, f"U+{code:04X} {category}"
                continue
            assert wanted, f"U+{code:04X} {category}"
            assert found == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    "text", ["", "-a", "_a", "́a", "a b", "a=b", "a:b", "½", "Ⅳ", "a😀", "\u200da", "a\u200d", "a\u200c\u200db"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="begin with a letter or digit"):
        names.label_name(text)


@pytest.mark.parametrize("text", ["", "two words", "日本　東京", "😀 50 % = ½ €", "👩\u200d🔬", "a=b:c;d", "(x²)"])
def test_what_is_a_value(text: str) -> None:
    assert names.label_value(text) == text


@pytest.mark.parametrize("text", ["́x", "a \u200db", "\u200c", "a\u200d "])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        names.label_value(text)


@pytest.mark.parametrize(
    ("form", "most", "most_bytes"),
    [
        (names.label_name, names.MAX_NAME, names.MAX_NAME_BYTES),
        (names.label_value, names.MAX_VALUE, names.MAX_VALUE_BYTES),
    ],
)
def test_names_are_bounded_in_characters_and_in_bytes(form: object, most: int, most_bytes: int) -> None:
    assert callable(form)
    for letter in "a", "ж", "字":
        assert form(letter * most) == letter * most
        with pytest.raises(ValueError, match=str(most)):
            form(letter * (most + 1))
    wide = "𠮷" * (most_bytes // 4)
    assert form(wide) == wide
    with pytest.raises(ValueError, match=str(most_bytes)):
        form(wide + "𠮷")
    apart = unicodedata.normalize("NFD", "é" * most)
    assert len(apart) == 2 * most
    assert form(apart) == "é" * most, "what counts is the form in which it is kept"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("ж", 1),
        ("项目", 4),
        ("e\u0301", 1),
        ("می\u200cخ", 3),
        ("😀", 2),
        ("ｱ", 1),
        ("Ａ", 2),
        ("กำ", 2),
        ("", 0),
    ],
)
def test_widths_are_columns_of_a_terminal(text: str, columns: int) -> None:
    assert names.width(text) == columns
    for most in range(1, 12):
        for side in "<>":
            cell = names.fit_columns(text, most, side)
            assert names.width(cell) == most, (text, most, cell)
            assert (text in cell) == (columns <= most)
        assert names.width(names.truncate_columns(text, most)) <= most
        assert text.startswith(names.truncate_columns(text, most))


def test_facts_of_one_thing_are_in_the_units_that_their_names_state(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts(
        {
            "begins_unix_s": 1.8e9,
            "lasts_s": 2700.0,
            "memory_bytes": 16 << 20,
            "loading": False,
            "holds": {"1": "brighten"},
            "slots": [],
            "ends_unix_s": None,
            "said": "a\x1b[1mb",
        }
    )
    said = {line[:16].strip(): line[16:] for line in capsys.readouterr().out.splitlines()}
    assert said == {
        "begins": "2027-01-15 08:00:00 UTC",
        "lasts": "45.0 min",
        "memory": "16 MiB",
        "loading": "no",
        "holds": "1: brighten",
        "slots": "-",
        "ends": "-",
        "said": said["said"],
    }
    assert "\x1b" not in said["said"]
