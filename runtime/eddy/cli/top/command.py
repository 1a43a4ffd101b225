# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The command `eddy top`."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from typing import Annotated

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import USAGE, errors_in_one_line, print_json, print_status
from eddy.cli.top.frame import COLUMNS, LINES, frame
from eddy.cli.top.server_poll import look
from eddy.host.distribution import install_hint


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one frame and end.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.2, max=60, help="Wall seconds between looks.")] = 1.0,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Watch slots, clusters, tenants and jobs. Arrows choose a job, Enter shows it, c cancels it, ? helps, q quits."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        if as_json:
            print_json(client.overview())
            return
        if once or not sys.stdout.isatty():
            size = shutil.get_terminal_size((COLUMNS, LINES))
            seen = look(client, client.transport.url, fails=True)
            print("\n".join(line.text for line in frame(seen, size.columns, size.lines)))
            return
        if importlib.util.find_spec("textual") is None:
            print_status(
                f"eddy: the moving screen needs Textual: {install_hint('serve')}; --once prints a frame without it"
            )
            raise typer.Exit(USAGE)
        look(client, client.transport.url, fails=True)
        from eddy.cli.top.screen import Screen

        Screen(client, client.transport.url, interval).run()
