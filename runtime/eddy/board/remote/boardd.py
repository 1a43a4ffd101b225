# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy boardd`: the privileged half. It owns the board and serves the board port on a UNIX socket.

One thread, one board, one client at a time. A client that dies loses nothing: what runs goes on, events are kept, and
the next client finds them. A second client is refused while the first one's connection lives. When boardd itself
starts, every slot is closed before any memory is handed out, and what its predecessor had running is reported with
cause `BOARD_RESTARTED`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from eddy.board.port.profile import Profile, load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.boardd_server import SOCKET_MODE, ensure_unused
from eddy.board.remote.boardd_server import Boardd as Boardd
from eddy.board.remote.boardd_server import listen as listen
from eddy.board.remote.factory import open_board
from eddy.board.remote.journal import Journal
from eddy.board.remote.notary import SUFFIX, serve_notary
from eddy.core.errors import InvalidRequest
from eddy.host import logs, signals
from eddy.host.files import PRIVATE_FOLDER, FolderLock, translate_os_errors


def serve(
    board: str,
    socket_path: Path,
    profile: str = "tiny",
    *,
    images: Path | None = None,
    trusted_keys: Path | None = None,
    notary: Path | None = None,
    ready: Callable[[Boardd], None] | None = None,
    progress: Callable[[str], None] | None = None,
    take_fabric: bool = False,
    measured: Path | None = None,
) -> None:
    """Open a board and serve it until a signal asks for the end.

    Args:
        board: ``rtl`` or ``pynq``.
        socket_path: Where to listen; the journal lies beside it.
        profile: Name of the board profile.
        images: Folder of partial bitstreams; the profile's own by default.
        trusted_keys: Folder of public keys whose signatures count.
        notary: Folder of the key and the list of `eddy.board.remote.notary`; beside the socket where not given.
        ready: Called once clients can connect.
        progress: Told what is being built; standard error where not given.
        take_fabric: Configure a real board's fabric although somebody else's design is on it.
        measured: Folder of values measured on this board, in place of the profile's planned ones.

    Raises:
        InvalidRequest: No such board or profile, or what was measured is not a profile's.
        Conflict: Another boardd listens there.
        StorageInUse: Another boardd has begun to.
    """
    with signals.catch_signals():
        found = load_profile(profile, measured)
        _serve(board, socket_path, found, images, trusted_keys, notary, ready, progress or _to_stderr, take_fabric)


def _serve(
    board: str,
    socket_path: Path,
    profile: Profile,
    images: Path | None,
    trusted_keys: Path | None,
    notary: Path | None,
    ready: Callable[[Boardd], None] | None,
    progress: Callable[[str], None],
    take_fabric: bool,
) -> None:
    with translate_os_errors(socket_path):
        socket_path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as ending:
        # Before a board is opened: two must not own it.
        held = FolderLock(socket_path.with_name(socket_path.name + ".lock"), f"the socket {socket_path}")
        ending.callback(held.release)
        held.note()
        ensure_unused(socket_path)
        # Under another name, as long as its own: whoever waits for the socket waits until it is served.
        trial = socket_path.with_name("~" + socket_path.name[1:])
        listen(trial).close()
        trial.unlink()
        journal = Journal(socket_path.with_name(socket_path.name + ".journal"))
        with signals.raise_on_signal():
            opened = open_board(
                board,
                profile,
                images=images,
                trusted_keys=trusted_keys,
                first_seq=journal.first_seq(),
                progress=progress,
                record=socket_path.with_name("fabric.json"),
                take_fabric=take_fabric,
            )
        if not isinstance(opened, PynqBoard):
            raise InvalidRequest(f"boardd owns hardware, not a {board} board", field="board", allowed=["rtl", "pynq"])
        for lost in journal.lost:
            opened.report_lost(lost.slot, lost.item, lost.image)
        signing = notary or socket_path.with_name(socket_path.name + ".notary")
        ending.enter_context(_alone_in(signing, beside=socket_path.parent))
        signs = serve_notary(signing, socket_path.with_name(socket_path.name + SUFFIX), SOCKET_MODE)
        server = Boardd(opened, socket_path, journal)
        ending.enter_context(signs)
        with signals.call_on_signal(server.stop):  # in another thread than the main one, whoever runs this has `stop`
            if ready is not None:
                ready(server)
            server.run()


@contextlib.contextmanager
def _alone_in(notary: Path, beside: Path) -> Iterator[None]:
    """Hold the notary's folder while the block runs: of two boardds that sign, one would not know what the other has.

    Args:
        notary: The folder.
        beside: One that is held already; it may be the same.
    """
    with translate_os_errors(notary):
        notary.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        same = notary.samefile(beside)
    held = None if same else FolderLock(notary / "audit.lock", f"the notary's folder {notary}")
    try:
        yield
    finally:
        if held is not None:
            held.release()


def _to_stderr(message: str) -> None:
    logs.write_rendered(f"eddy: {message}")  # whole: several connections say something at once
