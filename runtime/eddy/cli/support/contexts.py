# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Contexts: servers and keys by name, in a file that only its owner can read.

`eddy login` writes them, and every command takes the current one where neither flag nor environment says otherwise. A
key is sent to the server of its own context and to no other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eddy.core.errors import InvalidRequest
from eddy.host.files import is_exposed, translate_os_errors, write_private

ENVIRONMENT = "EDDY_CONTEXTS"


@dataclass(frozen=True, slots=True)
class KeptServer:
    """A server, and the key for it."""

    url: str
    key: str


@dataclass(frozen=True, slots=True)
class Contexts:
    """What the file holds.

    Attributes:
        current: Name of the context commands take; "" for none.
    """

    current: str = ""
    by_name: Mapping[str, KeptServer] = field(default_factory=dict)

    @property
    def now(self) -> KeptServer | None:
        """The one commands take."""
        return self.by_name.get(self.current)

    def of_url(self, url: str) -> KeptServer | None:
        """The one of a server: the current one first."""
        every = [*([self.now] if self.now else []), *self.by_name.values()]
        return next((each for each in every if each.url.rstrip("/") == url.rstrip("/")), None)


def path() -> Path:
    """Where the file is: what `EDDY_CONTEXTS` names, or `config.json` in the user's `eddy` folder."""
    named = os.environ.get(ENVIRONMENT)
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return Path(named).expanduser() if named else base / "eddy" / "config.json"


def load() -> Contexts:
    """What the file holds; nothing where there is none.

    Raises:
        InvalidRequest: It cannot be read, is no such file, or others can read it.
    """
    file = path()
    if not file.is_file():
        return Contexts()
    if is_exposed(file):
        raise InvalidRequest(f"{file} has keys in it and others can read it: chmod 600 {file}", field=ENVIRONMENT)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        by_name = {
            str(name): KeptServer(str(each["url"]), str(each["key"])) for name, each in found["contexts"].items()
        }
        return Contexts(str(found["current"]), by_name)
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}", field=ENVIRONMENT) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"{file} is not as `eddy login` writes it: move it away, and log in again"
        raise InvalidRequest(message, field=ENVIRONMENT) from None


def save(contexts: Contexts) -> Path:
    """Write the file, for its owner alone; answers where it is."""
    file = path()
    by_name = {name: {"url": each.url, "key": each.key} for name, each in contexts.by_name.items()}
    text = json.dumps({"current": contexts.current, "contexts": by_name}, indent=2)
    with translate_os_errors(file):
        write_private(file, (text + "\n").encode())
    return file


def load_context(names: Contexts, name: str) -> KeptServer:
    """The context of a name.

    Raises:
        InvalidRequest: There is none.
    """
    found = names.by_name.get(name)
    if found is None:
        raise InvalidRequest(
            f"There is no context {name!r}; `eddy login --name {name}` makes it.",
            field="context",
            allowed=sorted(names.by_name),
        )
    return found
