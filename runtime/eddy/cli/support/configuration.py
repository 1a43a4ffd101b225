# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The server's configuration file: settings by name, in YAML, below flags and environment in rank.

::

    port: 8443
    tls_cert: /etc/eddy/tls/cert.pem
    tls_key: /etc/eddy/tls/key.pem
    log_format: json
"""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes
from eddy.settings import SETTINGS, Setting, Value

NAME = "config"
MAX_BYTES = 1 << 16
"""Of the file; larger ones are not read."""
_SAID = ("COMMANDLINE", "ENVIRONMENT")


def read(path: Path) -> dict[str, Value]:
    """Settings of a file, of the right types.

    Raises:
        InvalidRequest: It cannot be read, or is no table of settings of the server.
    """
    import yaml

    try:
        text = _text(path)
        found = yaml.safe_load(text) or {}
        twice = _find_duplicate(yaml.compose(text))
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read ({error.strerror}); name the file --config means.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # no UTF-8, a number of 5,000 digits, a deep nest
        raise InvalidRequest(f"{path} is no YAML: {' '.join(str(error).split())}", field=NAME) from None
    if not isinstance(found, Mapping):
        raise InvalidRequest(f"{path} has no settings: write each as `name: value`.", field=NAME)
    if twice:
        raise InvalidRequest(f"{path} has {twice} twice; keep one of them.", field=twice)
    return {str(name): _value(path, str(name), value) for name, value in found.items()}


def _text(path: Path) -> str:
    """What a file holds.

    Raises:
        InvalidRequest: It is no file, a pipe that nobody writes say; or larger than any that holds settings.
        OSError: It cannot be read.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise InvalidRequest(f"{path} is no file; name the file --config means.", field=NAME)
    if found.st_size > MAX_BYTES:
        raise InvalidRequest(
            f"{path} has {format_bytes(found.st_size)}; settings take at most {format_bytes(MAX_BYTES)}.", field=NAME
        )
    return path.read_text(encoding="utf-8")


def _find_duplicate(document: Any) -> str:
    """A name that stands twice at the top of a YAML document; "" for none. Of two values YAML takes the last."""
    pairs = document.value if document is not None and document.id == "mapping" else []
    names = Counter(str(name.value) for name, _ in pairs)
    return next((name for name, count in names.items() if count > 1), "")


def _value(path: Path, name: str, value: object) -> Value:
    setting = SETTINGS.get(name)
    if setting is None or setting.read_by != "server" or name == NAME:
        allowed = [each for each, known in SETTINGS.items() if known.read_by == "server" and each != NAME]
        raise InvalidRequest(f"{path}: there is no setting {name!r} of the server.", field=name, allowed=allowed)
    wanted = type(setting.default)
    if isinstance(value, int) and not isinstance(value, bool) and wanted is float:
        value = float(value)
    if type(value) is not wanted:
        raise InvalidRequest(f"{path}: {name} is {value!r}; it must be {_kind(setting)}.", field=name)
    wrong = setting.wrong(value)
    if wrong:
        raise InvalidRequest(f"{path}: {name} is {value!r}; {wrong}.", field=name)
    assert isinstance(value, (str, int, float))
    return value


def _kind(setting: Setting) -> str:
    if setting.allowed:
        return f"one of {', '.join(setting.allowed)}"
    return {int: "a whole number", float: "a number", str: "text"}[type(setting.default)]


def use(context: typer.Context, value: str) -> str:
    """Let a file's settings be the defaults of a command; the callback of its option, which is read first."""
    if value:
        try:
            context.default_map = read(Path(value).expanduser())
        except InvalidRequest as error:
            raise typer.BadParameter(error.message) from None
    return value


def in_force(context: typer.Context, fresh: bool = False) -> dict[str, Value]:
    """The server's settings by name, as a command was given them.

    Args:
        fresh: Whether to read the file again; flags and environment stay as they were.

    Raises:
        InvalidRequest: The file cannot be used.
    """
    values = {name: context.params[name] for name in SETTINGS if name in context.params and name != NAME}
    path = context.params.get(NAME)
    if not fresh or not path:
        return values
    found = read(Path(path).expanduser())
    for name in values:
        source = context.get_parameter_source(name)
        if source is None or source.name not in _SAID:
            values[name] = found.get(name, SETTINGS[name].default)
    return values
