# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Names of receivers, looked up in threads of their own.

A name that a tenant chose is answered by a name server that it may own, and a look-up cannot be given up: it holds its
thread until the system's resolver gives up, half a minute perhaps. So nothing else waits for these threads, and each
tenant has few.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter

AT_ONCE = 2
"""Look-ups of one tenant that have not come back, whether or not somebody still waits for them."""
_under_way: Counter[str] = Counter()
_lock = threading.Lock()


class TooManyLookups(Exception):
    """Others of the tenant have not come back yet."""


async def look_up(host: str, port: int, whose: str, most_s: float) -> list[str]:
    """The addresses of a host.

    Args:
        host: Its name, or an address.
        port: The port that is meant.
        whose: The tenant that named it.
        most_s: Wall seconds to wait.

    Raises:
        OSError, UnicodeError: It has none.
        asyncio.TimeoutError: That takes longer.
        TooManyLookups: Others of the tenant have not come back.
    """
    with _lock:
        if _under_way[whose] >= AT_ONCE:
            raise TooManyLookups
        _under_way[whose] += 1
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(addresses: list[str], failure: Exception | None) -> None:
        if found.done():
            return
        if failure is None:
            found.set_result(addresses)
        else:
            found.set_exception(failure)

    def work() -> None:
        addresses: list[str] = []
        failure: Exception | None = None
        try:
            addresses = [str(each[-1][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            failure = error
        with _lock:
            _under_way[whose] -= 1
            if not _under_way[whose]:
                del _under_way[whose]
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, addresses, failure)

    threading.Thread(target=work, name="eddy-look-up", daemon=True).start()
    return await asyncio.wait_for(found, timeout=most_s)
