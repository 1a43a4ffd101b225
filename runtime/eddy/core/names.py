# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Names that people give to things, in any script: labels of jobs, and what a tenant is called.

They are kept in Unicode's composed form (NFC), so that the same name typed on two systems is one name. What steers a
terminal, hides itself or changes the direction in which text is read is refused, and so is a character that this
Python's Unicode has no entry for: its composed form may yet change. Names that become names of files, subjects of NATS
or labels of metrics (ids of tenants, boards, applications, modules, keys) stay ASCII, each with a form of its own.
"""

from __future__ import annotations

import re
import unicodedata

from eddy.core.units import format_bytes

MAX_NAME, MAX_NAME_BYTES = 63, 189
MAX_VALUE, MAX_VALUE_BYTES = 64, 192
"""Characters, and bytes in UTF-8."""
SIGNS = "_./-"
"""What the name of a label may have beside letters and digits."""
SPACES = " \u3000"
"""The space, and that of East Asian scripts; others look like these, and are not equal to them."""
JOINERS = "\u200c\u200d"
"""They join letters, or keep them apart, as several scripts are written."""
NAME_WORDS = (
    f"must begin with a letter or digit, and have up to {MAX_NAME} letters, digits and `{SIGNS}`"
    f" ({format_bytes(MAX_NAME_BYTES)})"
)
TEXT_WORDS = f"must be up to {MAX_VALUE} printable characters ({format_bytes(MAX_VALUE_BYTES)})"
"""What a form allows, as the end of a sentence."""


_PLAIN_NAME = re.compile(f"[A-Za-z0-9][A-Za-z0-9{re.escape(SIGNS)}]{{0,{MAX_NAME - 1}}}")
_PLAIN_VALUE = re.compile(f"[ -~]{{0,{MAX_VALUE}}}")
"""What most are: it is taken at once, for each submission has some."""


def normalize_text(text: str) -> str:
    """The same text in the one form in which names are kept and compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def label_name(text: str) -> str:
    """The name of a label, as it is kept: letters, marks and digits of any script, and `SIGNS`.

    Raises:
        ValueError: It has another form; says which it must have.
    """
    if _PLAIN_NAME.fullmatch(text):
        return text
    found = normalize_text(text)
    first = unicodedata.category(found[0]) if found else ""
    if not (first[:1] == "L" or first == "Nd") or not all(map(_of_name, found)) or not _bounded(found, MAX_NAME_BYTES):
        raise ValueError(NAME_WORDS)
    if len(found) > MAX_NAME or not _joined(found):
        raise ValueError(NAME_WORDS)
    return found


def label_value(text: str) -> str:
    """The value of a label, or what something is called, as it is kept: text in one line; "" is one.

    Raises:
        ValueError: It has another form; says which it must have.
    """
    if _PLAIN_VALUE.fullmatch(text):
        return text
    found = normalize_text(text)
    begins_well = not found or unicodedata.category(found[0])[0] != "M"
    if not begins_well or not all(map(_printable, found)) or not _bounded(found, MAX_VALUE_BYTES):
        raise ValueError(TEXT_WORDS)
    if len(found) > MAX_VALUE or not _joined(found):
        raise ValueError(TEXT_WORDS)
    return found


def label_pair(text: str) -> tuple[str, str]:
    """A label as filters name it, `name=value`.

    Raises:
        ValueError: It has another form; says which it must have.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError("must read NAME=VALUE")
    try:
        return label_name(name), label_value(value)
    except ValueError as failure:
        part = "name" if failure.args[0] == NAME_WORDS else "value"
        raise ValueError(f"must read NAME=VALUE; its {part} {failure}") from None


def width(text: str) -> int:
    """Columns a text takes on a terminal: two for the wide characters of East Asia and pictures, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def fit_columns(text: str, columns: int, side: str = "<") -> str:
    """A text in just so many columns: filled with spaces, or cut, which an ellipsis shows.

    Args:
        columns: One or more.
        side: "<" for the left side, ">" for the right one.
    """
    if width(text) > columns:
        text = f"{truncate_columns(text, columns - 1)}…"
    filling = " " * (columns - width(text))
    return f"{filling}{text}" if side == ">" else f"{text}{filling}"


def truncate_columns(text: str, columns: int) -> str:
    """As much of the beginning of a text as so many columns have room for."""
    if text.isascii():
        return text[:columns]
    kept, used = "", 0
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept += character
    return kept


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _bounded(text: str, most_bytes: int) -> bool:
    try:
        return len(text.encode()) <= most_bytes
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _of_name(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd" or character in SIGNS or character in JOINERS


def _printable(character: str) -> bool:
    return character in SPACES or character in JOINERS or unicodedata.category(character)[0] in "LMNPS"


def _joined(text: str) -> bool:
    """Whether each joiner stands between two characters that it may join."""
    framed, apart = f" {text} ", SPACES + JOINERS
    places = [place for place, character in enumerate(framed) if character in JOINERS]
    return not any(framed[place - 1] in apart or framed[place + 1] in apart for place in places)
