# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What in a source reaches the machine that its model runs on: programs, files, C++. No slot has any of it, and modules
of others are run before anybody has read them.

Sources are looked at as Verilator's own preprocessor leaves them, so neither a macro nor an included file hides
anything; and what may be called is listed, not what may not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from eddy.core.errors import InvalidRequest

from eddy_sim.tools.toolchain import preprocess

_NAMES = """
assertcontrol assertoff asserton assertkill assertpasson assertpassoff assertfailon assertfailoff
assertnonvacuouson assertvacuousoff
acos acosh asin asinh atan atan2 atanh bits bitstoreal bitstoshortreal cast ceil changed changed_gclk clog2 cos cosh
countbits countones dimensions display displayb displayh displayo error exit exp fatal fdisplay fdisplayb
fdisplayh fdisplayo fell fell_gclk finish floor fwrite fwriteb fwriteh fwriteo high hold hypot increment info
isunbounded isunknown itor left ln log10 low monitor monitorb monitorh monitoro monitoroff monitoron nochange onehot
onehot0 past past_gclk period pow printtimescale random readmemb readmemh realtime realtobits recovery recrem
removal right root rose rose_gclk rtoi sampled setup setuphold sformat sformatf shortrealtobits signed sin sinh size
skew sqrt stable stable_gclk stime stop strobe strobeb strobeh strobeo swrite swriteb swriteh swriteo tan tanh
test$plusargs time timeformat timeskew typename unit unpacked_dimensions unsigned urandom urandom_range
value$plusargs warning width write writeb writeh writeo fullskew
"""
_CALLABLE = frozenset(_NAMES.split())
"""System tasks and functions of IEEE 1800 that compute, report, or fill memories from a data file of the module's."""
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
    r"|//[^\n]*|/\*.*?\*/"
    r"|\\\S+"
    r"|(?P<pasted>\$\w*``)|\$(?P<called>[A-Za-z_][\w$]*)|(?P<loose>\$(?=\s*`))"
    r"|`(?P<directive>systemc_\w+|verilator_config)\b"
    r"|(?P<word>import|export)\b(?:\s|//[^\n]*\n|/\*.*?\*/)*(?P<dpi>\"|`)?",
    re.DOTALL,
)
_RAW_CPP = re.compile(r"\$c(?:pure)?\d*(?![\w$])|`systemc_")
"""What Verilator copies into its C++ as it stands; looked for in strings and escaped names as well, so that nothing
rests on ending these where Verilator ends them."""
_CALLS_OUT = re.compile(r"\bVL_SYSTEM\w*|\w*Vdpiimwrap_\w*")
"""What C++ of a model has only where it calls programs or functions of others; files are the model's own whatever it
opens (`cpp/model_files.hpp`)."""
_OCTAL = re.compile(rb"\\([0-7]{3})")
_LINE = re.compile(r'^`line\s+(\d+)\s+"([^"]*)".*$', re.MULTILINE)


def find_reaching(text: str) -> tuple[str, int] | None:
    """The first thing in a text that reaches the machine, and where it begins; None where nothing does. Comments and
    strings are none of its code."""
    for token in _TOKENS.finditer(text):
        named = token.groupdict()
        if named["called"] is not None and named["called"] not in _CALLABLE:
            return token.group(), token.start()
        if named["pasted"] or named["loose"] or named["directive"] or named["dpi"]:
            return token.group(), token.start()
    return None


def refuse_reaching(files: Sequence[Path]) -> None:
    """Refuse sources that would do something on the machine their model runs on.

    Args:
        files: All of a module: sources, headers and data.

    Raises:
        InvalidRequest: They would, or include a file that is not among them; names the line.
        BuildFailed: They cannot be read.
    """
    text = preprocess(files)
    known = {path.resolve() for path in files}
    for _, name in _LINE.findall(text):
        if name and not name.startswith("<") and _path(name).resolve() not in known:
            raise InvalidRequest(f"{_path(name)} is included, and is no file of the module's", field="source")
    raw = _RAW_CPP.search(text)
    found = find_reaching(text) if raw is None else (raw.group(), raw.start())
    if found is not None:
        raise reaching_error(*_place(text, found[1]), found[0])


def refuse_calls_out(generated: Path, what: str) -> None:
    """Refuse a model that would call programs or C, by what Verilator made of its sources: it does not
    rest on reading them as Verilator does.

    Args:
        generated: Folder of Verilator's output.
        what: Of which model it is.

    Raises:
        InvalidRequest: It would.
    """
    for file in sorted(generated.glob("*.cpp")):
        found = _CALLS_OUT.search(file.read_text(encoding="utf-8", errors="replace"))
        if found is not None:
            message = f"the model of {what} would call {found.group()!r} of the machine it runs on; nothing was built"
            raise InvalidRequest(message, field="source")


def reaching_error(name: str, line: int, what: str) -> InvalidRequest:
    """The refusal of a line that reaches the machine."""
    return InvalidRequest(
        f"{name}:{line} has {what!r}, which reaches programs or files of the machine that runs its model; a kernel in a"
        " slot can do nothing of the kind. Take it out, or put it between `// synthesis translate_off` and"
        " `// synthesis translate_on`",
        field="source",
    )


def _path(told: str) -> Path:
    """A file as Verilator tells of it: bytes that are no ASCII as three octal digits behind a backslash."""
    return Path(os.fsdecode(_OCTAL.sub(lambda byte: bytes([int(byte.group(1), 8) & 0xFF]), os.fsencode(told))))


def _place(text: str, at: int) -> tuple[str, int]:
    """The file and the line that a place of a preprocessed text is of."""
    name, line, after = "source", 1, 0
    for marker in _LINE.finditer(text, 0, at):
        name, line, after = str(_path(marker.group(2))), int(marker.group(1)), marker.end() + 1
    return Path(name).name, line + text.count("\n", after, at)
