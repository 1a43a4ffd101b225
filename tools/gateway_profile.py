# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Print the profile of the board behind this machine's gateway, as its operator; `make board-units` tries it."""

from __future__ import annotations

from pathlib import Path

from eddy.board.remote.gateway import Gateway
from eddy.board.remote.socket import SocketBoard

KEY, AUTHORITY = Path("/etc/eddy/operator"), Path("/etc/eddy/gateway.pem")

if __name__ == "__main__":
    print(SocketBoard(Gateway.named("tls://127.0.0.1:7443", KEY, AUTHORITY)).describe().profile)
