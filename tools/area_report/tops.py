# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is synthesized: the list in `hw/area.yaml` and every reconfigurable module; and when a figure is out of date."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml
from eddy_sim.tools.filelist import data_files, expand_includes, read_filelist, source_files

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "hw" / "area.yaml"
RECIPE = (
    "read_slang --threads 1 {files} --top {top}{parameters}; "
    "synth_xilinx -family xcup -noiopad -noclkbuf -flatten -top {top}; stat -tech xilinx"
)
"""The commands, as the page shows them."""
WIRE = "scratchpad -set synth_xilinx.abc9.W {ps}"
"""What is said before them where a top has a `wire_ps`."""


@dataclass(frozen=True)
class Top:
    """Something to synthesize.

    Attributes:
        name: What the page calls it.
        group: The table it stands in.
        top: Name of the module.
        filelist: Its `.f` list.
        parameters: Of the top.
        boxes: Blocks whose insides are left out.
        levels: Most levels of logic between registers; 0: as many as it takes.
        wire_ps: What synthesis takes the wire behind each LUT to need, in ps; 0: what it takes it to be by itself, 300.
        memory_bits: Bits of slots' ports to memory.
    """

    name: str
    group: str
    top: str
    filelist: Path
    parameters: Mapping[str, int] = field(default_factory=dict)
    boxes: tuple[str, ...] = ()
    levels: int = 0
    wire_ps: int = 0
    memory_bits: int = 64

    @property
    def stated(self) -> str:
        """Parameters of the top, and how wide ports to memory are, as the synthesizer takes them."""
        wide = f" -D EDDY_MEMORY_BITS={self.memory_bits}" if self.memory_bits != 64 else ""
        return "".join(f" -G {name}={value}" for name, value in self.parameters.items()) + wide

    def key(self) -> str:
        """Changes when its figures may: with what the sources say, whatever their comments and their checks.

        Sources that nothing names count for nothing: those of a box, for one.
        """
        parts = [RECIPE, self.top, repr(sorted(self.parameters.items())), repr(self.boxes)]
        parts += [WIRE.format(ps=self.wire_ps)] * bool(self.wire_ps)
        parts += [str(self.memory_bits)] * (self.memory_bits != 64)
        files = read_filelist(self.filelist)
        texts = []
        for path in source_files(files):
            source = expand_includes(path.read_text(encoding="utf-8"), files)
            texts.append(header(source) if path.stem in self.boxes else meaning(source))
        parts += _named_from(self.top, texts)
        parts += [hashlib.sha256(path.read_bytes()).hexdigest() for path in data_files(files)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _named_from(top: str, texts: Sequence[str]) -> list[str]:
    """The sources that a top is in, or that it names, or that those name, and so on; in their order."""
    defined = {name: text for text in texts for name in re.findall(r"\b(?:module|package|interface) (\w+)", text)}
    found, todo = set(), [top]
    while todo:
        text = defined.get(todo.pop(), "")
        if text not in found:
            found.add(text)
            todo += re.findall(r"\w+", text)
    return [text for text in texts if text in found]


@dataclass(frozen=True)
class Device:
    """A profile's device.

    Attributes:
        profile: Name of the profile.
        device: Its part.
        have: Its resources by kind.
        tiles: Its clock tiles.
        source: The data sheet.
    """

    profile: str
    device: str
    have: Mapping[str, int]
    tiles: int
    source: str


@cache
def meaning(source: str) -> str:
    """A source as synthesis sees it: no comments, no checks, no layout."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)
    source = re.sub(r"`ifndef SYNTHESIS.*?`endif", "", source, flags=re.DOTALL)
    return " ".join(source.split())


def header(source: str) -> str:
    """A module's name and ports, and nothing inside."""
    found = re.search(r"^module\b.*?^\);", source, flags=re.DOTALL | re.MULTILINE)
    assert found is not None, "a source of a box begins its module and ends its ports at the start of a line"
    return meaning(found.group()) + "\nendmodule\n"


def read_tops() -> list[Top]:
    """All there is to synthesize, in the order of the page."""
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))["tops"]
    listed = [
        Top(
            entry["name"],
            entry["group"],
            entry.get("top", entry["name"]),
            LIST.parent / entry["files"],
            entry.get("parameters", {}),
            tuple(entry.get("boxes", ())),
            entry.get("levels", 0),
            entry.get("wire_ps", 0),
            entry.get("memory_bits", 64),
        )
        for entry in entries
    ]
    return listed + list(_modules())


def _modules() -> list[Top]:
    found = []
    for path in sorted(ROOT.glob("bitstreams/*/manifest.yaml")):
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        if manifest["kind"] == "hls":
            files = (path.parent / manifest["files"]).resolve()
            found.append(Top(manifest["module"], "module", manifest["top"], files))
    return found


def read_devices() -> list[Device]:
    """The devices of the profiles."""
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))["devices"]
    kinds = ("lut", "ff", "bram", "dsp")
    return [
        Device(profile, entry["device"], {kind: entry[kind] for kind in kinds}, entry["tiles"], entry["source"])
        for profile, entry in entries.items()
    ]
