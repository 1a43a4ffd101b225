# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Times and durations as people write them on a command line."""

from __future__ import annotations

import re
import time
from calendar import timegm

from eddy.core.errors import InvalidRequest

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_FORMATS = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d %H:%M")
TIME = "2026-12-24T08:00Z (UTC), or +2h from now"


def parse_duration(text: str, option: str) -> float:
    """Seconds of a duration such as ``90m``.

    Raises:
        InvalidRequest: It is none.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd])", text.strip())
    if found is None:
        message = f"--{option} is {text!r:.40}; give a number with s, m, h or d, as 90m."
        raise InvalidRequest(message, field=option, allowed="a number with s, m, h or d")
    return float(found.group(1)) * _UNITS_S[found.group(2)]


def parse_time(text: str, now_unix_s: float) -> float:
    """Seconds since 1970 of a time in UTC, or of one that is so far from now.

    Raises:
        InvalidRequest: It is none.
    """
    if text.startswith("+"):
        return now_unix_s + parse_duration(text[1:], "from")
    for form in _FORMATS:
        try:
            return float(timegm(time.strptime(text.strip(), form)))
        except ValueError:
            continue
    raise InvalidRequest(f"--from is {text!r:.40}; give {TIME}.", field="from", allowed=TIME)
