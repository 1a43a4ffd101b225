"""What `eddy serve --pool` runs beside its server."""

from __future__ import annotations

from eddy.api.service.server import Beside, Server
from eddy.pool.agent import Agent, AgentSettings
from eddy.pool.local_board import LocalBoard


def agent_beside(settings: AgentSettings) -> Beside:
    """The agent of a server's board, to be given to `Server`; it runs until the server ends."""

    async def run(server: Server) -> None:
        described = server.board.describe()

        def key() -> str:
            return server.key_file.read_text().strip()

        board = LocalBoard(server.app, key(), f"{described.board}/{described.profile}", key)
        await Agent(settings, board).run()

    return run
