# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The launch block, which tells the cores what to run: of a slice on a whole cluster, or of one on one core."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.gpu.launches.lane_steps import cut_words, slice_words
from eddy.gpu.programs.layout import BLOCK, align, pack_block
from eddy.gpu.programs.ndrange import Arrangement
from eddy.gpu.programs.shape import ClusterShape

BLOCK_BYTES = align(4 * len(BLOCK))
"""Room that one block takes."""


class LaunchBlocks:
    """The launch blocks of one launch.

    Args:
        shape: The cluster.
        arrangement: How the ND-range fills it.
        words: What all its blocks have in common, as a whole cluster would be told it
        (`eddy.gpu.programs.layout.BLOCK`).
        log_bytes: Of one lane's log.
    """

    def __init__(
        self,
        shape: ClusterShape,
        arrangement: Arrangement,
        words: Mapping[str, int],
        log_bytes: int,
    ) -> None:
        self._shape, self._arrangement = shape, arrangement
        self._words, self._log_bytes = {**cut_words(arrangement, self.places), **words}, log_bytes

    @property
    def places(self) -> int:
        """Work-groups the whole cluster runs side by side."""
        return self._shape.cores * self._arrangement.core_groups

    def of_cluster(self, first: int, count: int) -> bytes:
        """The block of a slice that has the cluster for itself.

        Args:
            first: Its first work-group.
            count: How many it has.
        """
        core_groups, cores = self._arrangement.core_groups, self._shape.cores
        strides = (core_groups, 1) if count >= self.places else (1, cores)
        words = {"core_stride": strides[0], "place_stride": strides[1]}
        return pack_block({**self._words, **words, **self._slice(first, count)})

    def of_core(self, core: int, first: int, count: int) -> bytes:
        """The block of a slice that runs on one core, beside others on other cores.

        The slice believes that it has a cluster of one core to itself; stacks, contexts, fibers and logs are those of
        the core.

        Args:
            core: Which core, those of all clusters counted on.
            first: Its first work-group.
            count: How many it has.
        """
        plain, lanes = self._words, self._shape.lanes
        words = {
            **plain,
            **cut_words(self._arrangement, self._arrangement.core_groups),
            **{"core_stride": 0, "place_stride": 1},
            **self._slice(first, count),
            "stack_base": plain["stack_base"] + core * plain["stack_core"],
            "context_base": plain["context_base"] + core * plain["context_core"],
            "fiber_base": plain["fiber_base"] + core * plain["fiber_core"],
            "log_base": plain["log_base"] + core * lanes * self._log_bytes if plain["log_base"] else 0,
        }
        return pack_block(words)

    def _slice(self, first: int, count: int) -> dict[str, int]:
        return slice_words(self._arrangement, self._shape.threads, first, count)
