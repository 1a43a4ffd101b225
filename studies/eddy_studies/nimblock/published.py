# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What [004] says in figures 3.1 to 3.5 and their text, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping

ByPolicy = Mapping[str, str]

MEDIANS: Mapping[str, ByPolicy] = {
    "standard": {"fcfs": "5x", "round_robin": "5x", "prema": "nearly 8x", "nimblock": "nearly 8x"},
    "stress": {"fcfs": "2.5x", "round_robin": "3.3x", "prema": "9x", "nimblock": "9x"},
}
"""Times lower than without sharing."""
MEANS: Mapping[str, ByPolicy] = {
    "standard": {"nimblock": "2.7x"},
    "stress": {"fcfs": "1.5x", "round_robin": "1.3x", "prema": "2.1x", "nimblock": "2.3x"},
}
SPREADS: Mapping[str, ByPolicy] = {
    "standard": {"fcfs": "0.53 to 0.58", "round_robin": "0.68", "prema": "0.53 to 0.58", "nimblock": "0.53 to 0.58"},
    "stress": {"fcfs": "0.62", "round_robin": "0.66", "prema": "0.54", "nimblock": "0.43"},
}
"""Interquartile range of relative responses."""
TAILS: Mapping[str, Mapping[int, ByPolicy]] = {
    "standard": {
        95: {"prema": "1.5x", "round_robin": "1.3x", "fcfs": "comparable"},
        99: {"prema": "2x", "round_robin": "2.1x", "fcfs": "1.3x"},
    },
    "stress": {
        95: {"prema": "1x", "round_robin": "1.3x", "fcfs": "0.85x"},
        99: {"prema": "1.1x", "round_robin": "1.9x", "fcfs": "1.2x"},
    },
}
"""Nimblock's percentile, times lower than the rival's."""
TEN_PERCENT: Mapping[str, ByPolicy] = {
    "standard": {"round_robin": "18.25", "prema": "6.0", "nimblock": "4.5"},
    "stress": {"prema": "4.75", "nimblock": "3.75"},
}
"""D_s from which on one deadline in ten is missed at most."""
FEWER: Mapping[str, ByPolicy] = {
    "standard": {"prema": "21 %", "round_robin": "11 %"},
    "stress": {"prema": "19 %", "round_robin": "30 %"},
}
"""Nimblock's fewer failures at tight deadlines."""

TIGHT = 4.0
"""Up to which D_s a deadline counts as tight here."""
OPEN = """- how many sequences there were, and their seeds ("many distinct event sequences", 3.1): here {sequences},
  20 events each; applications, batches up to each one's largest and priorities 1, 3, 9 drawn with equal chance
- what "moderate delay" and "a rapid stream" are in ms: here 1500 to 2000 and 150 to 200; the published runs add
  "realtime", about 50 between arrivals
- whether every rival pipelined, as the text says, or only Nimblock, as the published runs show: the left panel follows
  the text, the middle one the published artefact on its board (`docs/explanations/nimblock-artefact.md`), the right one
  the artefact relative to a baseline that pipelines
- which D_s "tight deadlines" means: here every D_s up to {tight:g}; the largest difference there is given
- loads are those measured on the board, slot by slot, and block; items take what was measured; policies see estimates
"""
