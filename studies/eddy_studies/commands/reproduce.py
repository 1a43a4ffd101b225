# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce`: every headline figure of the documents, computed again, next to its published value.

A study is a module `eddy_studies.<name>.run` (or what `STUDIES` says) with a function
`reproduce(out, seed, quick, say) -> list[Row]`; and, where programs read its headline figures, `headlines(out)`, whose
keys `--json` prints beside the table. To add one, add its line to `STUDIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from eddy.cli.support.options import AsJson
from eddy.cli.support.output import errors_in_one_line, print_json, print_status

if TYPE_CHECKING:
    from eddy_studies.report import Row

    Reproduce = Callable[..., list[Row]]


@dataclass(frozen=True, slots=True)
class Study:
    """Where a study is, and what it computes.

    Attributes:
        module: What to import; it has a function `reproduce`.
        help: One line.
        headlines: Whether it has a function `headlines`.
    """

    module: str
    help: str
    headlines: bool = False


STUDIES: Mapping[str, Study] = {
    "makespan": Study("eddy_studies.makespan.run", "[002]: makespan placement, figures 2 to 9."),
    "mtf": Study("eddy_studies.mtf.run", "[003]: most token first, figures 5.2 to 5.18, Tables 3.1 to 3.3 and 5.2."),
    "nimblock": Study(
        "eddy_studies.nimblock.reproduce", "[004]: sharing slots, figures 3.1 to 3.5, and its board runs."
    ),
    "vayalapra": Study(
        "eddy_studies.vayalapra.run",
        "[000]: parallel fractions, prices, shares and speedups, figures 5.1 to 5.10.",
        headlines=True,
    ),
    "hsm": Study(
        "eddy_studies.hsm.run",
        "[001]: slowdown beside others, predicted and managed, figures 2 to 4 and 10 to 15.",
        headlines=True,
    ),
    "eddy-policy": Study("eddy_studies.judge.run", "The eddy dispatch policy against Nimblock [004], goal by goal."),
    "market-progress": Study(
        "eddy_studies.progress_market.run", "The market of [000] with measured progress ([001]), and without."
    ),
    "levers": Study(
        "eddy_studies.levers.run",
        "What images near the port, scrub, ICAP and fused tasks are worth.",
    ),
    "estimates": Study(
        "eddy_studies.estimates.run",
        "Whether what jobs are told of their start and end comes true, over replays that a seed draws.",
        headlines=True,
    ),
}
"""Name, as the command takes it, to the study. `all` runs them in this order."""

app = typer.Typer(
    help="Compute the headline figures of research works again, next to the published values. The glossary in"
    " docs/reference says what [000] to [004] are.",
    no_args_is_help=True,
)

Out = Annotated[Path, typer.Option("--out", help="Folder for data, pictures and the table; made if need be.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="First seed; a study that needs several counts up.")]
Quick = Annotated[bool, typer.Option("--quick", help="Few points and one seed: to see that it works.")]
Figure = Annotated[Optional[str], typer.Option("--figure", help="One figure only, where a study can compute it alone.")]  # noqa: UP045 (Typer on 3.10)


def _run(names: list[str], out: Path, seed: int, quick: bool, figure: str | None, as_json: bool) -> None:
    from eddy_studies.report import write_rows

    everything: dict[str, list[Row]] = {}
    with errors_in_one_line(as_json):
        for name in names:
            function: Reproduce = import_module(STUDIES[name].module).reproduce
            folder = out / name if len(names) > 1 else out
            folder.mkdir(parents=True, exist_ok=True)
            everything[name] = function(folder, seed, quick, print_status, **_only(name, function, figure))
            write_rows(folder / "table.md", everything[name], f"{name}: published and ours")
    if as_json:
        print_json({**_headlines(names, out), **everything})
        return
    for rows in everything.values():
        for row in rows:
            print(f"{row.figure:<8} {row.what}: {row.ours} (published {row.published or '-'}) {row.note}".rstrip())
    print_status(f"data, pictures and table are in {out}")


def _headlines(names: list[str], out: Path) -> dict[str, object]:
    """Keys a study answers with beside its table, where it is asked alone and has a function `headlines(out)`."""
    if len(names) > 1 or not STUDIES[names[0]].headlines:
        return {}
    return dict(import_module(STUDIES[names[0]].module).headlines(out))


def _only(name: str, function: Reproduce, figure: str | None) -> dict[str, str]:
    """The argument that asks for one figure.

    Raises:
        InvalidRequest: The study computes all of its figures at once.
    """
    from eddy.core.errors import InvalidRequest

    if figure is None:
        return {}
    if "figure" not in signature(function).parameters:
        raise InvalidRequest(f"{name} computes all of its figures at once; leave --figure out.", field="figure")
    return {"figure": figure}


def _command(names: list[str]) -> Callable[..., None]:
    def command(out: Out, seed: Seed = 0, quick: Quick = False, figure: Figure = None, as_json: AsJson = False) -> None:
        _run(names, out, seed, quick, figure, as_json)

    return command


for _name, _study in STUDIES.items():
    app.command(_name, help=_study.help)(_command([_name]))
app.command("all", help="Every study, each in a folder of its own.")(_command(list(STUDIES)))
