# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the OpenCL library starts: its helper, with the server and the key that commands would take."""

from __future__ import annotations

import logging
import os

from eddy.cli.support.local import connect
from eddy.cli.support.options import UnsetDefault
from eddy.opencl.helper import serve
from eddy.opencl.remote import RemoteSessions
from eddy.settings import SETTINGS

MEMORY = "EDDY_OPENCL_MEMORY"


def main() -> None:
    """Serve the host that started this process, until it ends."""
    logging.basicConfig(level=logging.WARNING, format=f"eddy-opencl helper {os.getpid()}: %(message)s")
    url = os.environ.get("EDDY_URL", "") or UnsetDefault(str(SETTINGS["url"].value()))
    memory_bytes = int(os.environ.get(MEMORY, "") or 0)
    serve(RemoteSessions(connect(url, os.environ.get("EDDY_KEY", "")), memory_bytes))


if __name__ == "__main__":
    main()
