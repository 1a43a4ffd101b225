# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Headers of a tenant's own and build options: from memory, by name, with the right lines in every message."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import CompilationFailed, InvalidRequest, QuotaExceeded
from eddy.gpu.compilation import build_options
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.includes import Headers
from eddy.gpu.launches.launch import launch
from eddy.gpu.launches.request import KernelRequest
from unit.gpu_kit import cluster, compiler

Floats = npt.NDArray[np.float32]
MAIN = """#include "shared/types.h" // the types
/* #include "absent.h" */
constant char text[] = "\\
#include \\"absent.h\\"";
  #  include <scale.h>
kernel void f(global real *a) {
  uint i = get_global_id(0);
  a[i] = scaled(a[i]) + OFFSET;
}
"""
HEADERS = {
    "shared/types.h": '#ifndef TYPES_H\n#define TYPES_H\ntypedef float real;\n#include "limits.h"\n#endif\n',
    "shared/limits.h": '#pragma once\n#define FACTOR 3\n#include "types.h"\nreal twice(real x) { return 2 * x; }\n',
    "lib/scale.h": '#include "shared/types.h"\n#include "shared/limits.h"\nreal scaled(real x) { return FACTOR * x; }',
}


def run(source: str = MAIN, options: str = "-I lib -D OFFSET=1", **more: object) -> list[float]:
    a = np.arange(4, dtype="f4")
    includes = more.get("includes", HEADERS)
    program = build(compiler(), source, includes=includes, options=options)  # type: ignore[arg-type]
    launch(cluster(), program, "f", a.shape, [a])
    return [float(value) for value in a]


def test_headers_come_from_memory_by_name() -> None:
    assert run() == [1, 4, 7, 10]


def refused(source: str, includes: dict[str, str], options: str = "") -> CompilationFailed:
    with pytest.raises(CompilationFailed) as caught:
        build(compiler(), source, includes=includes, options=options)
    return caught.value


def test_messages_name_file_and_line() -> None:
    places = [
        (MAIN.replace("OFFSET;", "OFFSET + nothing;"), HEADERS, ("kernel.cl", 8)),
        (MAIN, {**HEADERS, "lib/scale.h": "\n\nreal scaled(real x) { return y; }"}, ("lib/scale.h", 3)),
        (MAIN, {**HEADERS, "shared/limits.h": "#pragma once\n\n#error no\n"}, ("shared/limits.h", 3)),
        ('#include "a b-c.h"\nkernel void f() {}', {"a b-c.h": "int x = ;"}, ("a b-c.h", 1)),
    ]
    for source, headers, place in places:
        first = refused(source, headers, "-I lib -DOFFSET=1").details["diagnostics"][0]
        assert (first["file"], first["line"]) == place
    deep = {"deep.h": "\nint r(int n) { volatile int t = n; return n ? r(n - 1) * t : 1; }\n"}
    error = refused('#include "deep.h"\nkernel void f(global int *a) { a[0] = r(a[0]); }', deep)
    assert error.message.startswith("deep.h:2:1: error: 'r' is recursive")
    assert error.details["diagnostics"][0]["file"] == "deep.h"


def test_what_did_not_come_along_is_not_there(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("#define SECRET 1\n")
    for name in (str(secret), "absent.h", "../secret.h", "stdio.h"):
        error = refused(f'\n#include "{name}"\nkernel void f() {{}}', {"other.h": ""}, f"-I {tmp_path}")
        first = error.details["diagnostics"][0]
        assert (first["file"], first["line"]) == ("kernel.cl", 2)
        assert "file not found" in first["message"]


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.h", "a//b.h", "./a.h", "", "a\nb.h", 'a".h', "x" * 200])
def test_names_of_headers_are_plain(name: str) -> None:
    with pytest.raises(InvalidRequest, match="plain relative name"):
        build(compiler(), "kernel void f() {}", includes={name: ""})


def test_includes_without_an_end_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="include guard"):
        build(
            compiler(),
            '#include "a.h"\nkernel void f() {}',
            includes={"a.h": '#include "b.h"', "b.h": '#include "a.h"'},
        )
    doubling = {f"h{k}.h": f'#include "h{k + 1}.h"\n#include "h{k + 1}.h"\n' for k in range(30)} | {"h30.h": "// end\n"}
    with pytest.raises(QuotaExceeded, match="source and its headers"):
        build(compiler(), '#include "h0.h"\nkernel void f() {}', includes=doubling)
    with pytest.raises(InvalidRequest, match="256 headers"):
        build(compiler(), "kernel void f() {}", includes={f"h{k}.h": "" for k in range(257)})
    with pytest.raises(QuotaExceeded, match="leave out those that are not included"):
        build(compiler(), "kernel void f() {}", includes={"a.h": " " * (4 << 20), "b.h": "\u00e9" * (2 << 20) + "x"})


def test_a_header_may_be_read_twice_where_it_wants_to() -> None:
    list_h = "X(1) X(2) X(3)\n"
    source = """constant int a[] = {
    #define X(n) n,
    #include "list.h"
    #undef X
    }; int sum(void) { return 0
    #define X(n) + n
    #include "list.h"
    ; }
    kernel void f(global float *o) { o[0] = a[2] * 100 + sum(); o[1] = __LINE__; }"""
    assert run(source, "", includes={"list.h": list_h})[:2] == [306, 9]


def test_headers_in_conditions_are_the_compilers_matter() -> None:
    source = """#if 0
    #include "broken.h"
    #else
    #include "fine.h"
    #endif
    kernel void f(global float *o) { o[0] = FINE; }"""
    assert run(source, "", includes={"broken.h": "#error broken\n", "fine.h": "#define FINE 5"})[0] == 5
    text = Headers({"fine.h": "int x;"}).expand_includes('#include "fine.h" /* two\nlines */\nint y;\n')
    assert text == '\n# 1 "fine.h"\nint x;\n# 1 "kernel.cl"\n /* two\nlines */\nint y;\n'


def test_ways_out_of_the_folder_of_the_source_end_in_it() -> None:
    source = '#include "./../main.h"\n#include "deep/c.h"\nkernel void f(global float *o) { o[0] = A + B + C; }'
    headers = {
        "main.h": "#define A 1\n#include <other.h>\n",
        "other.h": "#define B 2\n",
        "deep/c.h": '#include "../../x.h"',
    }
    assert run(source, "-I ./../ -I /usr/include", includes={**headers, "x.h": "#define C 4"})[0] == 7


def test_marks_of_byte_order_are_passed_over() -> None:
    source = '\ufeff#include "a.h"\nkernel void f(global float *o) { o[0] = A; }'
    assert run(source, "", includes={"a.h": "\ufeff#define A 1\n"})[0] == 1


def test_inline_functions_are_there_also_where_they_are_called() -> None:
    """C99 leaves an inline function without `static` undefined wherever the optimizer does not put it in place."""
    body = "(float x) { for (int i = 0; i < 9; i++) x = x * 3 - i; return x + get_global_id(0); }\n"
    kinds = ("inline", "extern inline", "__inline__", "static inline", "__attribute__((noinline)) inline")
    functions = "".join(f"{kind} float g{k}{body}" for k, kind in enumerate(kinds))
    calls = "; ".join(f"a[i] -= g{k}(a[i]) - g{k}(a[i] - 1)" for k in range(len(kinds)))
    source = f"{functions}kernel void f(global float *a) {{ uint i = get_global_id(0); {calls}; a[i] = g0(a[i]); }}"
    a = np.arange(4, dtype="f4")
    wanted: Floats = a.copy()

    def g(x: Floats) -> Floats:
        for i in range(9):
            x = (x * 3 - i).astype("f4")
        return (x + np.arange(4)).astype("f4")

    for _ in kinds:
        wanted = np.subtract(wanted, g(wanted) - g(np.subtract(wanted, 1)), dtype="f4")
    assert run(source, "", includes={}) == [float(value) for value in g(wanted)]


def test_sources_only_for_double_are_compiled_with_it() -> None:
    """Programs that do nothing, or give up, where `cl_khr_fp64` is not defined."""
    guard = "#if defined(cl_amd_fp64) || defined(cl_khr_fp64)\n"
    error = "#ifdef cl_khr_fp64\n#else\n#error double is needed\n#endif\n"
    kernel = "kernel void f(global float *a) { REAL x = 0.1; a[0] = x == 0.1f; }\n"
    for real, exact in (("double", 0), ("float", 1)):
        for source in (f"{guard}{kernel}#endif\n", error + kernel):
            assert run(source, f"-D REAL={real}", includes={})[0] == exact
    message = refused(f"{guard}kernel void f(global float *a) {{ a[0] = nothing; }}\n#endif\n", {}).message
    assert message.startswith("kernel.cl:2:41: error: use of undeclared identifier 'nothing'")


def test_constants_of_mathematics_have_the_precision_of_literals() -> None:
    source = "kernel void f(global float *a) { REAL x = M_PI; a[0] = x == M_PI_F; a[1] = 2 * M_SQRT1_2; }"
    assert run(source, "-D REAL=float", includes={})[:2] == [1, np.float32(np.sqrt(2))]
    assert run(source, "-D REAL=double", includes={})[:2] == [0, np.float32(np.sqrt(2))]
    own = "#define M_PI 3\nkernel void f(global float *a) { a[0] = M_PI + M_PI_2; }"
    assert run(own, "-Werror", includes={})[0] == np.float32(3) + np.float32(np.pi / 2)


def test_literals_are_single_beside_double_where_that_is_asked_for() -> None:
    source = "kernel void f(global float *a) { double x = a[1]; a[0] = sizeof(2.0); a[1] = pow(a[2], 2.0) * x; }"
    assert run(source, "-cl-single-precision-constant", includes={})[:2] == [4, 4]
    assert "ambiguous" in refused(source, {}).message


def test_options_are_those_of_opencl() -> None:
    text = '-D N=4 -DFAST -D "TEXT=a b" -I inc -Iother/one -cl-mad-enable -cl-std=CL1.2 -w -cl-fast-relaxed-math'
    found = build_options.parse(text)
    assert found.defines == {"N": "4", "FAST": "1", "TEXT": "a b", "__FAST_RELAXED_MATH__": "1"}
    assert (found.folders, found.warnings) == (("inc", "other/one"), "none")
    assert build_options.parse("  ") == build_options.BuildOptions()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-O9", "'-O9' is not known; there are -D NAME"),
        ("-cl-nv-verbose -fplugin=x", "'-fplugin=x' is not known"),
        ("-cl-std=CL2.1", "is not known"),
        ("-fplugin=/tmp/x.so", "is not known"),
        ("-include /etc/passwd", "is not known"),
        ("@/etc/passwd", "is not known"),
        ("-D", "-D takes a value"),
        ("-I", "-I takes a value"),
        ("-D 'N=1", "Close every quote"),
        ("-D 1N=2", "must be an identifier"),
        ("-w " * 2000, "characters"),
    ],
)
def test_other_options_are_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        build(compiler(), "kernel void f() {}", options=text)


def test_warnings_become_errors_or_nothing() -> None:
    source = "#warning look\nkernel void f(global int *a) { a[0] = 1; }"
    assert "look" in build(compiler(), source).warnings
    assert build(compiler(), source, options="-w").warnings == ""
    assert "look" in refused(source, {}, "-Werror").message


def test_a_request_travels_with_headers_and_options() -> None:
    request = KernelRequest(MAIN, "f", (4,), (), defines={"N": "1"}, includes=HEADERS, options="-I lib")
    assert KernelRequest.from_json(request.to_json()) == request
    assert request.build_arguments() == {"defines": {"N": "1"}, "includes": HEADERS, "options": "-I lib"}
    plain = KernelRequest(MAIN, "f", (4,), ())
    assert plain.to_json().keys().isdisjoint({"includes", "options"})
    for wrong in ({"includes": {"a.h": 1}}, {"includes": ["a.h"]}, {"options": ["-w"]}):
        with pytest.raises(InvalidRequest, match="must be"):
            KernelRequest.from_json({**plain.to_json(), **wrong})


NAMED: dict[str, tuple[str, str, dict[str, str], float]] = {
    "an option": ("#include HEADER\n", '-D HEADER="\\"lib/a.h\\""', {"lib/a.h": "#define V 1"}, 1),
    "an option in angles": ("#include HEADER\n", "-D HEADER=<lib/a.h> -I.", {"lib/a.h": "#define V 2"}, 2),
    "a function's name": ("#define X(x) #x\n#define S(x) X(x)\n#include S(P/a.h)\n", "-D P=lib",
                          {"lib/a.h": "#define V 3"}, 3),
    "functions of options": ("#include S(P/a.h)\n", "-D X(x)=#x -D S(x)=X(x) -D P=lib", {"lib/a.h": "#define V 4"}, 4),
    "angles by a function": ("#define S(x) <lib/x>\n#include S(a.h) // so\n", "", {"lib/a.h": "#define V 5"}, 5),
    "pasted": ("#define S(x) T(x##_v2.h)\n#define T(x) U(x)\n#define U(x) #x\n#include S(a) /* over\nlines */\n", "",
               {"a_v2.h": "#define V 6"}, 6),
    "over two lines": ('#define H "a.h"\n#include \\\nH\n', "", {"a.h": "#define V 7"}, 7),
    "by a condition": ('#if N > 2\n#define H "a.h"\n#else\n#define H "b.h"\n#endif\n#include H\n', "-D N=3",
                       {"a.h": "#define V 8", "b.h": "#define V 0"}, 8),
    "by another header": ('#include "which.h"\n#include H\n', "",
                          {"which.h": '#define H "a.h"\n', "a.h": "#define V 9"}, 9),
    "by a named header": ('#define H "which.h"\n#include H\n#include /* 2 */ G\n', "",
                          {"which.h": '#define G "a.h"', "a.h": "#define V 10"}, 10),
    "in a header": ('#define S(x) #x\n#include "lib/b.h"\n', "",
                    {"lib/b.h": "#include S(c.h)\n", "lib/c.h": "#define V 11"}, 11),
    "in turn": ('#define H "a.h"\n#include H\n#undef H\n#define H "b.h"\n#include H\n', "",
                {"a.h": "#define A 5", "b.h": "#define V (A + 7)"}, 12),
    "twice": ('#define H "a.h"\nconstant int t[] = {\n#include H\n#include H\n};\n#define V t[1] + t[2]\n', "",
              {"a.h": "6, 7, "}, 13),
    "where nothing is": ('#if 0\n#include NOTHING(x\n#endif\n#define H "a.h"\n#include H\n', "",
                         {"a.h": "#define V 14"}, 14),
    "with double": ('#ifdef cl_khr_fp64\n#define H "a.h"\n#include H\n#endif\n', "",
                    {"a.h": "#define V (sizeof(double) + 7)"}, 15),
}  # fmt: skip


@pytest.mark.parametrize("how", NAMED)
def test_macros_name_headers(how: str) -> None:
    lines, options, headers, value = NAMED[how]
    source = f"{lines}kernel void f(global float *o) {{ o[0] = V; o[1] = __LINE__; }}"
    assert run(source, options, includes=headers)[:2] == [value, lines.count("\n") + 1]


def test_a_header_may_be_called_as_the_source_is() -> None:
    source = '#include "kernel.cl"\nkernel void f(global float *o) { o[0] = V; }'
    assert run(source, "", includes={"kernel.cl": "#ifndef A\n#define A\n#define V 3\n#endif"})[0] == 3


def test_what_a_macro_names_that_did_not_come_along_is_not_there() -> None:
    for lines, message in (
        ("#define S(x) #x\n#include S(/etc/passwd)\n", "'/etc/passwd' file not found"),
        ("#include NOWHERE\n", "expected"),
        ('#define H "b.h"\n#include H\n', "'b.h' file not found"),
    ):
        error = refused(f"{lines}kernel void f() {{}}", {"a.h": "", "passwd": ""})
        assert message in error.message
        assert error.details["diagnostics"][0]["line"] == lines.count("\n")


def test_headers_that_depend_on_each_other_without_an_end_are_refused() -> None:
    deep = {f"h{k}.h": f"#define NEXT(x) <h{k + 1}.h>\n" for k in range(20)}
    headers = {name: f"#undef NEXT\n{text}" for name, text in deep.items()}
    steps = "#include NEXT(1)\n" * 12
    with pytest.raises(InvalidRequest, match="more than 8 levels deep"):
        build(compiler(), f"#define NEXT(x) <h0.h>\n{steps}kernel void f() {{}}", includes=headers)


def test_a_program_of_several_megabytes_is_compiled_and_travels_in_less() -> None:
    """As a public program brings them: 2.4 MB in 90 headers, which a function-like macro names."""

    def table(k: int) -> str:
        rows = "".join(
            f"#define TABLE_{k}_{row} {row * k % 977} // row {row} of the table of numbers {k}\n" for row in range(440)
        )
        return f"#ifndef T{k}\n#define T{k}\n{rows}#endif\n"

    headers = {f"OpenCL/inc_{k}.h": table(k) for k in range(90)}
    assert 2_300_000 < sum(map(len, headers.values())) < 2_700_000
    source = "#define X(x) #x\n#define M2S(x) X(x)\n" + "".join(
        f"#include M2S(INCLUDE_PATH/inc_{k}.h)\n" for k in range(90)
    )
    source += "kernel void f(global float *o) { o[0] = TABLE_7_100; o[1] = TABLE_89_439; }"
    request = KernelRequest(source, "f", (4,), (), includes=headers, options="-D INCLUDE_PATH=OpenCL")
    travels = json.dumps(request.to_json())
    assert len(travels) < 1 << 20
    again = KernelRequest.from_json(json.loads(travels))
    assert again == request
    assert run(again.source, again.options, includes=dict(again.includes))[:2] == [700, 439 * 89 % 977]


def test_what_is_no_deflated_object_of_texts_is_refused() -> None:
    plain = KernelRequest(MAIN, "f", (4,), ()).to_json()

    def packed(data: bytes) -> str:
        return base64.b64encode(zlib.compress(data)).decode()

    good = packed(b'{"a.h": "x"}')
    assert KernelRequest.from_json({**plain, "includes": good}).includes == {"a.h": "x"}
    for wrong in (
        "%",
        good[:-8],
        packed(b"[1]"),
        packed(b'{"a.h": 1}'),
        packed(b"{"),
        packed(b"\xff"),
        packed(b"[" * 100_000),
    ):
        with pytest.raises(InvalidRequest, match="must be names and texts"):
            KernelRequest.from_json({**plain, "includes": wrong})
    with pytest.raises(QuotaExceeded, match="leave out those that are not included"):
        KernelRequest.from_json({**plain, "includes": packed(b'{"a.h": "' + b" " * (1 << 25) + b'"}')})
