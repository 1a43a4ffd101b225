# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's sources as slang elaborates them: its top, the ports at their widths, its files, and what is missing."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from eddy.core.errors import InvalidRequest
from pyslang.ast import (
    ArgumentDirection,
    Compilation,
    GenerateBlockSymbol,
    InstanceSymbol,
    PackageSymbol,
    PortSymbol,
    UninstantiatedDefSymbol,
    VisitAction,
)
from pyslang.driver import Driver

from eddy_sim.importing.sources import KernelSources
from eddy_sim.tools.filelist import VERILOG, source_files
from eddy_sim.tools.reaching import find_reaching, reaching_error

_INCLUDE = re.compile(r'`include\s+"([^"]+)"')
TRANSLATE_OFF = ("synthesis", "synopsys", "pragma")
"""Words of comments by which synthesizers are told to pass over lines."""
_OFF = re.compile(
    rf"^[^\S\n]*//\s*(?:{'|'.join(TRANSLATE_OFF)})\s+translate_off.*?//\s*(?:{'|'.join(TRANSLATE_OFF)})\s+translate_on[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_CONDITION = re.compile(
    # What a macro holds, over all of its lines, is no condition of the text around it.
    r'`define\b(?:\\\n|"(?:\\.|[^"\\\n])*"|//(?:\\(?!\n)|[^\\\n])*|/\*.*?\*/|[^\n])*'
    r'|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\\\S+|`(?P<word>ifn?def|elsif|else|endif)\b(?:\s+(?P<name>\w+))?',
    re.DOTALL,
)
FORMAL = "FORMAL"
"""What proof tools define, by Yosys' custom; nothing else reads what stands under it."""
_SEVERITY = re.compile(r"\$(error|warning|info)\b")
"""Tasks of SystemVerilog that Verilog sources call all the same."""
_UNDEFINED = "unknown macro or compiler directive"
"""How slang says that nothing before a source defined what it uses."""
_DEFINES, _USES = re.compile(r"`(?:define|undef)\s+(\w+)"), re.compile(r"`(?:(?:ifn?def|elsif)\s+)?(\w+)")
_DATA_NAME = re.compile(r'"([^"\s]+)"')
_PLAIN_NAME, _PLAIN_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*"), re.compile(r"\w[\w.+$-]*")
_AXI = re.compile(r"(aw|ar)(_bits_|_payload_|_|_aw|_ar)?(addr|valid)(_[io])?$|tvalid$", re.IGNORECASE)


@dataclass(frozen=True)
class TopPort:
    """A port of the top, at the width that the default parameters give it."""

    name: str
    output: bool
    width: int
    signed: bool = False


@dataclass(frozen=True)
class KernelDesign:
    """What was elaborated.

    Attributes:
        top: Name of the top module.
        ports: Its ports, in order.
        files: The sources that it needs, those of packages first.
        headers: The headers that these include, of those that there are.
        data: The data files that these name.
        missing: Modules that no source holds, and how often they are instantiated.
        blocks: Names of the modules it is made of.
        unread: Sources that cannot be read, and that it does not need: benches, say.
        parameters: What parameters of the top are set to.
    """

    top: str
    ports: tuple[TopPort, ...]
    files: tuple[Path, ...]
    headers: tuple[Path, ...]
    data: tuple[Path, ...]
    missing: tuple[tuple[str, int], ...]
    blocks: tuple[str, ...]
    unread: tuple[Path, ...] = ()
    parameters: tuple[tuple[str, int], ...] = ()


def read_design(
    sources: KernelSources, top: str | None = None, parameters: Mapping[str, int] = MappingProxyType({})
) -> KernelDesign:
    """Elaborate a kernel.

    Args:
        sources: Its files.
        top: Name of its top; the one that has AXI ports and that nothing instantiates, without.
        parameters: What parameters of the top are set to, instead of their defaults.

    Raises:
        InvalidRequest: The sources cannot be read, it does not follow which module is the top, or it has no such
            parameter.
    """
    try:
        return _elaborated(sources, top, parameters)
    except _Unreadable as failed:
        unreadable = failed
    whole = None
    if _UNDEFINED in unreadable.message and not sources.one_unit:
        with contextlib.suppress(_Unreadable):
            whole = read_design(_in_one_unit(sources, unreadable), top, parameters)
    if whole is None:
        return _without(sources, unreadable, top, parameters)
    if not unreadable.files & {*whole.files}:
        # Where the kernel does not need what reads others' macros, none of these counts for the kernel either.
        with contextlib.suppress(InvalidRequest):
            own = _without(sources, unreadable, top, parameters)
            if own.top == whole.top:
                return own
    return whole


def _elaborated(sources: KernelSources, top: str | None, parameters: Mapping[str, int]) -> KernelDesign:
    """The design of sources that can all be read."""
    compilation = _compile(sources, top, parameters)
    files, packages = _places(compilation)
    chosen = _choose(_modules(compilation), top, sources, files)
    blocks, missing = _parts(chosen)
    _check_parameters(chosen, parameters)
    needed = {files[name] for name in blocks if name in files}
    ordered = [
        *(path for path in packages if path not in needed),
        *(path for path in sources.verilog if path in needed),
    ]
    if sources.one_unit:
        ordered = _with_definers(ordered, sources)
    _check_names(chosen, ordered)
    texts = [synthesised_text(path) for path in ordered]
    headers = _included(texts, sources)
    texts += [synthesised_text(path) for path in headers]
    copied = dict(zip((*ordered, *headers), texts, strict=True))
    _refuse_reaching(copied)
    data = _data(sources, copied)
    _check_files((*headers, *data))
    design = KernelDesign(
        chosen.definition.name,
        _top_ports(chosen),
        tuple(ordered),
        headers,
        data,
        tuple(sorted(missing.items())),
        tuple(sorted(blocks)),
        parameters=tuple(parameters.items()),
    )
    _check_alone(design, sources, copied)
    return design


def _modules(compilation: Compilation) -> list[InstanceSymbol]:
    return [instance for instance in compilation.getRoot().topInstances if instance.isModule]


def _top_ports(top: InstanceSymbol) -> tuple[TopPort, ...]:
    return tuple(
        TopPort(port.name, port.direction == ArgumentDirection.Out, int(port.type.bitWidth), port.type.isSigned)
        for port in top.body.portList
        if isinstance(port, PortSymbol)
    )


def _with_definers(files: Sequence[Path], sources: KernelSources) -> list[Path]:
    """Files of one unit, each behind those that were read before it and define what it, or what it includes, uses.

    What a header defines that a file includes itself is its own.
    """
    texts = {path: synthesised_text(path) for path in (*sources.headers, *sources.verilog)}
    within = {path: {path, *_included([text], sources)} for path, text in texts.items()}
    defines = {path: set(_DEFINES.findall(text)) for path, text in texts.items()}
    uses = {path: set(_USES.findall(text)) for path, text in texts.items()}
    places = {path: place for place, path in enumerate(sources.verilog)}
    found: dict[Path, None] = {}
    for path in files:
        before = sources.verilog[: places.get(path, 0)]
        used, took = set().union(*(uses[each] for each in within[path])), -1
        own: set[Path] = set()
        while len(own) > took:
            took = len(own)
            for other in before:
                if other not in own and used & set().union(*(defines[each] for each in within[other] - within[path])):
                    own.add(other)
                    used |= set().union(*(uses[each] for each in within[other]))
        found |= dict.fromkeys(each for each in before if each in own)
        found[path] = None
    return list(found)


def _check_alone(design: KernelDesign, sources: KernelSources, copied: Mapping[Path, str]) -> None:
    """Read what is copied of a kernel as its model is built of it: alone, and as one unit.

    Raises:
        InvalidRequest: It is not what was read among all sources.
    """
    if len({path.name for path in copied}) < len(copied):
        return  # such are not copied: it is refused where they would be
    with tempfile.TemporaryDirectory(prefix="import-") as made:
        folder = Path(made).resolve()
        for path, text in copied.items():
            (folder / path.name).write_text(text, encoding="utf-8")
        verilog = tuple(folder / path.name for path in source_files(design.files))
        headers = tuple(folder / path.name for path in design.headers)
        alone = replace(sources, verilog=verilog, headers=headers, one_unit=True)
        try:
            try:
                compilation = _compile(alone, design.top, dict(design.parameters))
            except _Unreadable:
                if sources.one_unit:
                    raise
                # What a file says of nets, say, may be in the way of the next.
                compilation = _compile(replace(alone, one_unit=False), design.top, dict(design.parameters))
        except _Unreadable as unreadable:
            said = re.sub(r"^\S*/(?=[^/\s]+:\d+:)", "", unreadable.message, flags=re.MULTILINE)
            message = f"without sources that {design.top} does not need, {said}"
            raise InvalidRequest(message, field="source") from unreadable
        (top,) = (each for each in _modules(compilation) if each.definition.name == design.top)
        ports, (blocks, missing) = _top_ports(top), _parts(top)
    if (ports, blocks, missing) == (design.ports, {*design.blocks}, dict(design.missing)):
        return
    differ = [f"{port.name} of {port.width} bits" for port in design.ports if port not in ports]
    differ += sorted({*design.blocks, *dict(design.missing)} ^ {*blocks, *missing})
    raise InvalidRequest(
        f"{design.top} has other ports or blocks where its own sources are read alone and as one, as its model is"
        f" built: {', '.join(differ[:4]) or 'not as many'} differ. A macro of one source decides what is in another:"
        " name a folder that holds the kernel's sources alone, or rename the macro",
        field="source",
    )


def _check_parameters(top: InstanceSymbol, parameters: Mapping[str, int]) -> None:
    own = [each.name for each in top.body.parameters if not each.isLocalParam]
    for name in parameters:
        if name not in own:
            message = f"{top.definition.name} has no parameter {name:.80}"
            raise InvalidRequest(message, field="parameter", allowed=own)


class _Unreadable(InvalidRequest):
    """Sources that cannot be read; says which."""

    def __init__(self, message: str, files: frozenset[Path]) -> None:
        super().__init__(message, field="source")
        self.files = files


def _in_one_unit(sources: KernelSources, unreadable: _Unreadable) -> KernelSources:
    """The sources as one unit, those first that define what others use, or include what does: models are built so."""
    names = set(re.findall(f"{_UNDEFINED} '`(\\w+)'", unreadable.message))
    defines = re.compile(rf"`define\s+({'|'.join(sorted(names))})\b") if names else re.compile(r"(?!)")
    texts = {path: synthesised_text(path) for path in (*sources.headers, *sources.verilog)}
    own = {path for path, text in texts.items() if defines.search(text)}
    told = {path.name for path in own}
    first = [
        path
        for path in sources.verilog
        if path in own or told & {Path(name).name for name in _INCLUDE.findall(texts[path])}
    ]
    return replace(sources, verilog=tuple(dict.fromkeys((*first, *sources.verilog))), one_unit=True)


def _without(
    sources: KernelSources, unreadable: _Unreadable, top: str | None, parameters: Mapping[str, int]
) -> KernelDesign:
    """The design without sources that cannot be read, where it needs none of them."""
    left = tuple(path for path in sources.verilog if path not in unreadable.files)
    if not unreadable.files or not left:
        raise unreadable
    try:
        design = read_design(replace(sources, verilog=left), top, parameters)
    except InvalidRequest:
        raise unreadable from None
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in unreadable.files)
    held = set(re.findall(r"^\s*(?:module|package|interface)\s+(\w+)", text, re.MULTILINE))
    if held & {name for name, _ in design.missing}:
        raise unreadable
    return replace(design, unread=tuple(sorted({*design.unread, *unreadable.files})))


def _check_names(top: InstanceSymbol, files: Sequence[Path]) -> None:
    """Refuse names that could not stand in the text that is written around a kernel, or lead elsewhere.

    Raises:
        InvalidRequest: There is such a name.
    """
    ports = (port.name for port in top.body.portList if isinstance(port, PortSymbol))
    for name in (top.definition.name, *ports):
        if not _PLAIN_NAME.fullmatch(name):
            message = f"{name!r:.80} is an escaped name; call the top and its ports by letters, digits, _ and $"
            raise InvalidRequest(message, field="source")
    _check_files(files)


def _check_files(files: Sequence[Path]) -> None:
    for path in files:
        if not _PLAIN_FILE.fullmatch(path.name):
            message = f"the file {path.name!r:.80} cannot be in a list of files: rename it"
            raise InvalidRequest(message, field="source", allowed="letters, digits and _ . + $ -")


def synthesised_text(path: Path) -> str:
    """A source as a synthesizer reads it: without what stands between `translate_off` and `translate_on`, and without
    what is for proof tools.

    What a Verilog source says by SystemVerilog's tasks, it says by `$display`.
    """
    text = _OFF.sub("// left out: not for synthesis", path.read_text(encoding="utf-8", errors="replace"))
    text = _without_formal(text)
    return _SEVERITY.sub("$display", text) if path.suffix == ".v" else text


def _without_formal(text: str) -> str:
    """A text without what is under `ifdef FORMAL; as it is where its conditions do not match each other."""
    cuts: list[tuple[int, int]] = []
    open_at: list[int | None] = []
    for token in _CONDITION.finditer(text):
        word, within = token["word"], any(place is not None for place in open_at)
        if word in ("ifdef", "ifndef"):
            open_at.append(token.start() if word == "ifdef" and token["name"] == FORMAL and not within else None)
        elif word and (not open_at or (word == "elsif" and open_at[-1] is not None)):
            return text
        elif word == "else" and open_at[-1] is not None:
            # What follows stays; its end goes with what was left out.
            cuts.append((open_at[-1], token.start() + len("`else")))
            open_at[-1] = -1
        elif word == "endif":
            place = open_at.pop()
            if place is not None:
                end = token.start() + len("`endif")
                cuts.append((token.start() if place < 0 else place, end))
    if open_at or not cuts:
        return text
    kept, at = [], 0
    for start, stop in cuts:
        kept += [text[at:start], "// left out: for proof tools\n" if "\n" in text[start:stop] else ""]
        at = stop
    return "".join([*kept, text[at:]])


def _refuse_reaching(texts: Mapping[Path, str]) -> None:
    """Refuse a kernel that would do something on the machine its model runs on, as far as its sources say it
    themselves; what macros and included files make of them is looked at before the model is built.

    Raises:
        InvalidRequest: It would; names the line.
    """
    for path, text in texts.items():
        found = find_reaching(text)
        if found is not None:
            raise reaching_error(path.name, text.count("\n", 0, found[1]) + 1, found[0])


def _included(texts: Sequence[str], sources: KernelSources) -> tuple[Path, ...]:
    """The headers that sources include, and that these include."""
    names: set[str] = set()
    left = list(texts)
    while left:
        found = {Path(name).name for name in _INCLUDE.findall(left.pop())} - names
        names |= found
        left += [synthesised_text(path) for path in sources.headers if path.name in found]
    return tuple(path for path in sources.headers if path.name in names)


def _compile(sources: KernelSources, top: str | None, parameters: Mapping[str, int]) -> Compilation:
    folders = sorted({path.parent for path in (*sources.headers, *sources.verilog)})
    command = [
        *("slang", "-Wnone", "--ignore-unknown-modules", "--error-limit=20", "--allow-use-before-declare"),
        # Sources of several origins say it in some files and not in others, and nothing here depends on it.
        *("--timescale", "1ns/1ps"),
        *(f"--map-keyword-version={VERILOG}+.v", "--allow-hierarchical-const", "--relax-enum-conversions"),
        # A port is declared once more, as what it is driven by.
        "--allow-merging-ansi-ports",
        *(f"--translate-off-format={word},translate_off,translate_on" for word in TRANSLATE_OFF),
        *(("--top", top) if top else ()),
        *(("--single-unit",) if sources.one_unit else ()),
        *(f"-I{folder}" for folder in folders),
        *(f"-G{name}={value}" for name, value in parameters.items()),
        *map(str, sources.verilog),
    ]
    driver = Driver()
    driver.addStandardArgs()
    with _said() as said:
        read = driver.parseCommandLine(shlex.join(command)) and driver.processOptions() and driver.parseAllSources()
        if read:
            compilation = driver.createCompilation()
            driver.reportCompilation(compilation, True)
            driver.reportDiagnostics(True)
    errors = [line for line in said if ": error: " in line]
    if not read or errors:
        what = "\n".join(errors[:8]) or "\n".join(said[:8])
        places = {Path(line.partition(":")[0]).resolve() for line in errors}
        files = frozenset(path for path in sources.verilog if path.resolve() in places)
        raise _Unreadable(f"the sources in {sources.folder} cannot be read:\n{what}", files)
    return compilation


@contextlib.contextmanager
def _said() -> Iterator[list[str]]:
    """What slang writes to standard error, line by line, when it is done."""
    lines: list[str] = []
    with tempfile.TemporaryFile("w+") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            lines += file.read().splitlines()


def _choose(
    tops: Sequence[InstanceSymbol], top: str | None, sources: KernelSources, files: Mapping[str, Path]
) -> InstanceSymbol:
    """The top: of those with AXI ports the one whose source has its name, or of such the one that interrupts.

    The others are spare parts of a library, or of an export: those begin with the top's name.
    """
    names = sorted(instance.definition.name for instance in tops)
    found = [instance for instance in tops if top in (None, instance.definition.name)]
    with_ports = [instance for instance in found if any(_AXI.search(port.name) for port in instance.body.portList)]
    own = [each for each in with_ports if files[each.definition.name].stem == each.definition.name]
    whole = [each for each in own if any(port.name == "interrupt" for port in each.body.portList)]
    led = [
        each
        for each in found
        if all(name == each.definition.name or name.startswith(f"{each.definition.name}_") for name in names)
    ]
    for group in (with_ports, own, whole, found, led):
        if len(group) == 1:
            return group[0]
    if top:
        raise InvalidRequest(f"no module {top} at the top of {sources.folder}", field="top", allowed=names)
    some = sorted(instance.definition.name for instance in with_ports) or names
    raise InvalidRequest(
        f"{sources.folder} holds {len(some)} modules that nothing instantiates; say which with --top",
        field="top",
        allowed=some,
    )


def _places(compilation: Compilation) -> tuple[dict[str, Path], list[Path]]:
    """The file of every module, and those of packages, in the order in which one uses the other."""
    manager = compilation.sourceManager
    files = {
        definition.name: Path(manager.getFullPath(definition.location.buffer))
        for definition in compilation.getDefinitions()
        if hasattr(definition, "location")
    }
    packages = [
        package for package in compilation.getPackages() if isinstance(package, PackageSymbol) and package.name != "std"
    ]
    places = {package.name: Path(manager.getFullPath(package.location.buffer)) for package in packages}
    texts = {name: path.read_text(encoding="utf-8", errors="replace") for name, path in places.items()}
    ordered: list[str] = []

    def visit(name: str, above: frozenset[str]) -> None:
        for other in sorted(places.keys() - above - {name}):
            if places[other] != places[name] and re.search(rf"\b{other}::", texts[name]):
                visit(other, above | {name})
        if name not in ordered:
            ordered.append(name)

    for name in sorted(places):
        visit(name, frozenset())
    return files, list(dict.fromkeys(places[name] for name in ordered))


def _parts(top: InstanceSymbol) -> tuple[set[str], dict[str, int]]:
    """The modules below a top, and those of which there is no source."""
    blocks: set[str] = set()
    missing: dict[str, int] = {}

    def name(symbol: object) -> None:
        if isinstance(symbol, UninstantiatedDefSymbol):
            blocks.add(symbol.definitionName)

    def see(symbol: object) -> VisitAction | None:
        if isinstance(symbol, GenerateBlockSymbol) and symbol.isUninstantiated:
            # Nothing of it is there, and tools want sources of all that it names.
            symbol.visit(name)
            return VisitAction.Skip
        if isinstance(symbol, InstanceSymbol):
            blocks.add(symbol.definition.name)
        elif isinstance(symbol, UninstantiatedDefSymbol):
            missing[symbol.definitionName] = missing.get(symbol.definitionName, 0) + 1
        return None

    top.visit(see)
    return blocks, missing


def _data(sources: KernelSources, texts: Mapping[Path, str]) -> tuple[Path, ...]:
    """The data files that sources name: of several of one name that which is nearest to the source.

    Raises:
        InvalidRequest: Of those that are, or of what several sources mean by one name, the contents differ.
    """
    there: dict[str, list[Path]] = {}
    for path in dict.fromkeys(sources.data):
        there.setdefault(path.name, []).append(path)
    found: dict[str, Path] = {}
    for source, text in texts.items():
        for name in dict.fromkeys(_DATA_NAME.findall(text)):
            files = there.get(Path(name).name, [])
            far = {path: _distance(source, name, path) for path in files}
            near = [path for path in files if far[path] == min(far.values())]
            for path in near:
                kept = found.setdefault(path.name, path)
                if kept != path and kept.read_bytes() != path.read_bytes():
                    raise InvalidRequest(
                        f"{source.name} reads {path.name}, and {kept} and {path} have that name and differ: take away"
                        " the one that is not the kernel's, or rename one and what reads it",
                        field="source",
                    )
    return tuple(found[name] for name in there if name in found)


def _distance(source: Path, name: str, path: Path) -> tuple[int, int, bool]:
    """How far a data file is from a source that names it: by the folders that the name has and the file has not, by how
    far up they meet, and by whether it is below."""
    said, place, home = Path(name).parts[::-1], path.resolve().parts[::-1], source.resolve().parent
    alike = next((n for n, (one, other) in enumerate(zip(said, place, strict=False)) if one != other), len(said))
    above = (home, *home.parents)
    up = next(n for n, folder in enumerate(above) if path.resolve().is_relative_to(folder))
    return -alike, up, path.resolve().parent != above[up]
