# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a kernel instantiates of the vendor's and brings no source of: what has models here, and what only watches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy_sim.tools.products import HARDWARE

MODELS = HARDWARE / "ip" / "vendor_parts" / "rtl"
"""Models of the vendor's parts, a file each under the part's name."""
_WATCHES = re.compile(r"(system_)?ila(_\w+)?|dbg_hub|vio_probe\w*", re.IGNORECASE)


def is_watcher(name: str) -> bool:
    """Whether a part only watches what it is connected to: an integrated logic analyser."""
    return _WATCHES.fullmatch(name) is not None


def models_for(names: Sequence[str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The models of parts, those that they instantiate before them, and those parts that there is none for."""
    known = {path.stem: path for path in sorted(MODELS.glob("*.sv"))}
    ordered: dict[str, Path] = {}

    def visit(name: str) -> None:
        inside = re.findall(r"^  (\w+) #\(", known[name].read_text(encoding="utf-8"), re.MULTILINE)
        for other in (each for each in inside if each in known):
            visit(other)
        ordered.setdefault(name, known[name])

    for name in names:
        if name in known:
            visit(name)
    return tuple(ordered.values()), tuple(name for name in names if name not in known)


# Floating point -------------------------------------------------------------------------------------------------------

FP_MODEL = MODELS / "fp_model.sv"
"""What computes, for simulators; the modules of an import's own say of which operation it is one."""
FORMATS = {"f": (8, 23), "d": (11, 52), "h": (5, 10)}
"""Bits of exponent and fraction, by the letter that HLS has for a precision."""
_SETTING = re.compile(r"CONFIG\.(\w+)\s+\{?([\w.]+)")
_TYPES = {
    **{"add_subtract": "addsub", "multiply": "mul", "divide": "div", "square_root": "sqrt", "compare": "cmp"},
    **{"exponential": "exp", "logarithm": "log", "reciprocal": "recip", "rec_square_root": "rsqrt"},
    **{"fma": "fma", "float_to_float": "resize"},
}
_RESIZES = {"fpext": "fd", "fptrunc": "df", "hptosp": "hf", "sptohp": "fh", "hptodp": "hd", "dptohp": "dh"}
"""Between which precisions, by the name that HLS has for a conversion."""
_BY_NAME = re.compile(
    r"_(?:ap_)?(?:(?P<kind>[fdh])(?P<op>add|sub|addsub|add[dhf]sub|mul|div|r?sqrt|cmp|exp|log|recip|fma)"
    rf"|(?P<from>[su]itof|[su]itod|[su]itoh)p?|(?P<resize>{'|'.join(_RESIZES)}))"
    r"_(?P<numbers>[0-9a-z_]+?)_(?:full|medium|max|med|no|primitive)_dsp(?:_\d+)?(?:_ip)?$"
)


@dataclass(frozen=True)
class FloatPart:
    """A floating-point operator of the vendor's.

    Attributes:
        name: Of the module that a kernel instantiates.
        operation: As `fp_model` calls it.
        latency: Enabled cycles until its result.
        source: Bits of exponent and fraction of its operands; of whole numbers, their bits and whether they are signed.
        result: The same of its result.
    """

    name: str
    operation: str
    latency: int
    source: tuple[int, int]
    result: tuple[int, int]


def read_float_part(name: str, script: str) -> FloatPart | None:
    """What a part is, by the script that makes it, or by its name where there is none; None for another part."""
    settings = dict(_SETTING.findall(script))
    if settings and "floating_point" in script:
        return _by_script(name, settings)
    found = _BY_NAME.search(name)
    if not found:
        return None
    numbers = [int(number) for number in re.findall(r"\d+", found["numbers"])]
    # The older names have the operator's own latency first, the newer ones their stages last: two more.
    latency = numbers[-1] - 2 if re.match(r"\d+n?s", found["numbers"]) else numbers[0]
    if found["from"]:
        width = numbers[0] if re.match(r"\d+n?s", found["numbers"]) else 32
        return FloatPart(name, "from_fixed", latency, (width, int(found["from"][0] == "s")), FORMATS[found["from"][-1]])
    if found["resize"]:
        pair = _RESIZES[found["resize"]]
        return FloatPart(name, "resize", latency, FORMATS[pair[0]], FORMATS[pair[1]])
    operation = "addsub" if found["op"].startswith("add") and found["op"] != "add" else found["op"]
    kind = FORMATS[found["kind"]]
    return FloatPart(name, operation, latency, kind, kind)


def _by_script(name: str, settings: Mapping[str, str]) -> FloatPart | None:
    kind = settings.get("operation_type", "").lower()
    source = _format(settings, "a")
    result = _format(settings, "result") if "c_result_exponent_width" in settings else source
    operation = _TYPES.get(kind)
    if kind == "add_subtract":
        operation = {"Add": "add", "Subtract": "sub"}.get(settings.get("add_sub_value", ""), "addsub")
    if kind == "fixed_to_float":
        width = int(settings["c_a_exponent_width"]) + int(settings["c_a_fraction_width"])
        operation, source = "from_fixed", (width, int(not settings.get("a_precision_type", "").startswith("U")))
        if settings.get("c_a_fraction_width") != "0":
            return None
    latency = settings.get("c_latency", "")
    if operation is None or not latency.isdigit() or settings.get("flow_control") != "NonBlocking":
        return None
    return FloatPart(name, operation, int(latency), source, result)


def _format(settings: Mapping[str, str], side: str) -> tuple[int, int]:
    return int(settings[f"c_{side}_exponent_width"]), int(settings[f"c_{side}_fraction_width"]) - 1


def float_text(part: FloatPart, ports: Sequence[str]) -> str:
    """A module of a part's name and ports around the model."""
    whole = part.operation == "from_fixed"
    bits = part.source[0] if whole else sum(part.source) + 1
    widths = {**dict.fromkeys("abc", _bytes(bits)), "operation": 8}
    widths["result"] = 8 if part.operation == "cmp" else _bytes(sum(part.result) + 1)
    lines = []
    for port in ports:
        side = next((each for each in widths if port.endswith(f"_{each}_tdata")), "")
        way = "output" if port.startswith("m_axis") and not port.endswith("tready") else "input"
        way = "output" if port.startswith("s_axis") and port.endswith("tready") else way
        lines.append(f"  {way} logic {f'[{widths[side] - 1}:0] ' if side else ''}{port}")
    source = f".FromWidth({bits}), .FromSigned({part.source[1]})" if whole else _parameters("", part.source)
    result = _parameters("To", part.result)
    tied = {"aclken": "1'b1", "s_axis_a_tvalid": "1'b1"}
    tied |= {f"s_axis_{each}_tdata": "'0" for each in ("b", "c", "operation")}
    net = {port: port if port in ports else value for port, value in tied.items()}
    return "\n".join(
        [
            "// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0",
            "/// The vendor's operator of this name, for simulators; on a board its script makes it.",
            "`ifndef SYNTHESIS",
            f"module {part.name} (",
            ",\n".join(lines),
            ");",
            "  logic valid;",
            "  logic [63:0] result;",
            f'  fp_model #(.Operation("{part.operation}"), .Latency({part.latency}), {source}, {result}) u_model (',
            f"    .clk_i({'aclk' if 'aclk' in ports else chr(39) + '0'}), .enable_i({net['aclken']}),",
            f"    .valid_i({net['s_axis_a_tvalid']}), .a_i(64'(s_axis_a_tdata)), .b_i(64'({net['s_axis_b_tdata']})),",
            f"    .c_i(64'({net['s_axis_c_tdata']})), .operation_i({net['s_axis_operation_tdata']}),",
            "    .valid_o(valid), .result_o(result)",
            "  );",
            f"  assign m_axis_result_tdata = {widths['result']}'(result);",
            *(["  assign m_axis_result_tvalid = valid;"] if "m_axis_result_tvalid" in ports else []),
            *(f"  assign {port} = 1'b1;" for port in ports if port.startswith("s_axis") and port.endswith("tready")),
            "endmodule",
            "`endif",
            "",
        ]
    )


def _parameters(prefix: str, kind: tuple[int, int]) -> str:
    return f".{prefix}ExpWidth({kind[0]}), .{prefix}FracWidth({kind[1]})"


def _bytes(bits: int) -> int:
    return -(-bits // 8) * 8
