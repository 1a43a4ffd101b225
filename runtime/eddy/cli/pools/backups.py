# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool backup | restore`: all that a pool keeps, of one moment."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.support.options import AsJson
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.core.units import format_size

RENEW_S = 60.0
"""Wall seconds that a restored pool has to be told from the one it is a copy of."""
_File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]


def backup(
    file: _File,
    data: Annotated[str, typer.Option("--data", help="Directory of `eddy pool up`.")],
    as_json: AsJson = False,
) -> None:
    """Copy all that a pool of one server keeps into a file, as of one moment: where `eddy pool up` runs, or ran."""
    with errors_in_one_line(as_json):
        from eddy.pool.servers.admission import Place
        from eddy.pool.servers.pool_backup import back_up

        folder = Path(data).expanduser().resolve()
        note = back_up(folder, _place(folder) or Place(folder, "127.0.0.1", 0), file)
    said: dict[str, Any] = {**asdict(note), "sums": len(note.sums), "bytes": file.stat().st_size}
    if as_json:
        print_json({**said, "file": str(file)})
    else:
        print_status(f"{file}: {format_size(said['bytes'])} in {len(note.sums)} files; it has all keys of the pool")
        print_status(f"the server stood still for {note.paused_s:.2f} s")


def restore(
    file: _File,
    data: Annotated[str, typer.Option("--data", help="Directory that is to be made.")],
    as_json: AsJson = False,
) -> None:
    """Make a pool's folder of a backup. Boards drop what they have of the pool that went on, and join this one."""
    import asyncio

    with errors_in_one_line(as_json):
        from eddy.pool.servers.pool_backup import unpack

        folder = Path(data).expanduser()
        note = unpack(file, folder)
        asyncio.run(asyncio.wait_for(_renewed(folder), RENEW_S))
    if as_json:
        print_json({"data": str(folder), "at_unix_s": note.at_unix_s, "files": len(note.sums)})
    else:
        print_status(f"{folder} is as the pool was; start `eddy pool up` there, as before, and then each head")


def _place(folder: Path) -> Any:
    """The server of a folder, as it was noted; None where none was."""
    from eddy.pool.servers.admission import PoolAdmission

    if not (folder / "users.json").exists():
        return None
    places = [place for place in PoolAdmission(folder).places if folder in (place.folder, *place.folder.parents)]
    return places[0] if places else None


async def _renewed(folder: Path) -> None:
    """Tell the pool of a folder from the one that it is a copy of, at an address that nobody else knows."""
    import asyncio

    from eddy.host.files import write_private
    from eddy.pool.connection.credentials import PoolAccess
    from eddy.pool.jetstream.link import open_pool
    from eddy.pool.jetstream.naming import renew_pool_numbers
    from eddy.pool.servers.admission import PoolAdmission
    from eddy.pool.servers.nats_server import NatsServer

    noted = {name: (folder / name).read_bytes() for name in ("users.json", "head.json")}
    admission, alone = PoolAdmission(folder), folder / "restoring.json"
    server = await asyncio.to_thread(lambda: NatsServer(folder, admission=admission))
    try:
        await asyncio.to_thread(server.start)
        urls = f"tls://{server.host}:{server.port}"
        replace(PoolAccess.named(str(admission.head_file)), urls=urls).write(alone)
        async with open_pool(str(alone), "restore") as link:
            await renew_pool_numbers(link)
    finally:
        await asyncio.to_thread(server.stop)
        alone.unlink(missing_ok=True)
        for name, data in noted.items():  # where its servers are reached
            write_private(folder / name, data)
