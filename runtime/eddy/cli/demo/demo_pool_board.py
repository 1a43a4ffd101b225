# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board of the pool's demonstration, in a process of its own: `python -m eddy.cli.demo.demo_pool_board`.

A `model` board computes here: its modules do to their buffers what the numpy references of image compression say, and
board time passes on the wall, slowed down so that people can watch and a board can be killed in mid-work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from eddy_sim.reference import image_compression as reference

from eddy.api.service.server import Server, ServerSettings
from eddy.board.model.model_memory import GrantedMemory
from eddy.board.model.model_modules import Behaviour
from eddy.board.model.paced import PacedModelBoard
from eddy.board.port.profile import load_profile
from eddy.cli.support.installed import bitstreams_folder
from eddy.cli.support.output import print_status
from eddy.host import signals
from eddy.packages.catalogue import Catalogue, load_catalogue
from eddy.packages.modules import ModuleManifest
from eddy.pool.agent.agent import AgentSettings, agent_beside

APPLICATION = "image_compression"
_SIDE = reference.TILE
_BLOCKS = (_SIDE // 8) ** 2
_Array = np.ndarray[Any, Any]


def _tile(data: bytes) -> _Array:
    return np.frombuffer(data, np.uint8).reshape(_SIDE, _SIDE)


def _blocks(data: bytes) -> _Array:
    return np.frombuffer(data, "<i2").reshape(_BLOCKS, 8, 8)


def _front(data: bytes) -> _Array:
    return reference.quantize(reference.dct(reference.level_shift(_tile(data))))


def _back(data: bytes) -> _Array:
    return reference.reconstruct(reference.idct(reference.dequantize(_blocks(data))), _SIDE, _SIDE)


_STAGES: Mapping[str, tuple[int, Callable[[bytes], _Array]]] = {
    "level_shift": (1, lambda data: reference.level_shift(_tile(data))),
    "dct": (2, lambda data: reference.dct(_blocks(data))),
    "quantize": (2, lambda data: reference.quantize(_blocks(data))),
    "dequantize": (2, lambda data: reference.dequantize(_blocks(data))),
    "idct": (2, lambda data: reference.idct(_blocks(data))),
    "reconstruct": (2, lambda data: reference.reconstruct(_blocks(data), _SIDE, _SIDE)),
    "image_front": (1, _front),
    "image_back": (2, _back),
}
"""Module to the bytes of a value it reads, and what it makes of a tile."""


def _behaviour(manifest: ModuleManifest, value_bytes: int, stage: Callable[[bytes], _Array]) -> Behaviour:
    """What a module does: from the buffer `in` names to the one `out` names."""

    def address(registers: Mapping[int, int], name: str) -> int:
        offset = manifest.register(name).offset
        return registers[offset] | registers[offset + 4] << 32

    def act(registers: Mapping[int, int], memory: GrantedMemory) -> None:
        data = memory.read(address(registers, "in"), _SIDE * _SIDE * value_bytes)
        memory.write(address(registers, "out"), stage(data).tobytes())

    return act


def paced_board(catalogue: Catalogue, profile: str, pace: float) -> PacedModelBoard:
    """A board that computes image compression, at `pace` wall seconds a board second."""
    behaviours = {name: _behaviour(catalogue.modules[name], *stage) for name, stage in _STAGES.items()}
    board = PacedModelBoard.from_profile(
        load_profile(profile), sorted(catalogue.modules), catalogue.estimates_s, behaviours=behaviours
    )
    assert isinstance(board, PacedModelBoard)
    board.pace = pace
    return board


def main() -> None:
    """Serve one board of a pool until a signal asks for the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pool", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--board", choices=("rtl", "model"), default="model")
    parser.add_argument("--profile", default="kv260")
    parser.add_argument("--pace", type=float, default=20.0)
    parser.add_argument("--width", type=int, default=2)
    given = parser.parse_args()
    bitstreams = bitstreams_folder("")
    settings = ServerSettings(given.board, given.profile, "eddy", given.data, bitstreams, port=0)
    board = paced_board(load_catalogue(bitstreams), given.profile, given.pace) if given.board == "model" else None
    agent = agent_beside(AgentSettings(given.pool, given.name, given.width))
    with signals.catch_signals():
        server = Server(settings, board=board, beside=[agent])
        server.run(ready=partial(print_status, server.url))


if __name__ == "__main__":
    main()
