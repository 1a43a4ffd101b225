# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy place`: which host of a pool runs each job of a batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from eddy.cli.support.options import AsJson, one_of
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.core.units import format_duration

if TYPE_CHECKING:
    from eddy.model.placement.instance import Instance

METHOD_NAMES = ("default", "computation", "network", "joint", "sjf", "ljf", "waves")


def place(
    instance: Annotated[Path, typer.Argument(help="A JSON file, or a folder of .npy files by the arrays' names.")],
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join(METHOD_NAMES)}.", callback=one_of(METHOD_NAMES))
    ] = "default",
    groups: Annotated[int, typer.Option(min=1, help="Place this many groups of sizes in turn, small jobs first.")] = 1,
    reconfigure_s: Annotated[float, typer.Option(min=0, help="Seconds an accelerator needs before each job.")] = 0.0,
    check: Annotated[bool, typer.Option(help="Check the answer by a referee that is not the solver.")] = True,
    as_json: AsJson = False,
) -> None:
    """Place a batch of jobs on hosts so that the last one ends early."""
    from eddy.model.placement.instance import as_document
    from eddy.model.placement.verify import problems_of
    from eddy.policy.place import METHODS
    from eddy.policy.place.successive_batches import grouped, with_reconfiguration

    with errors_in_one_line(as_json):
        batch = read_instance(instance, method)
        if reconfigure_s:
            batch = with_reconfiguration(batch, reconfigure_s)
        # The method for computation alone sends nothing, the one for the network alone computes nothing.
        seen = {"computation": batch.without_network, "network": batch.without_computation}.get(method, lambda: batch)()
        if groups > 1:
            placement = replace(grouped(seen, groups, METHODS[method], bound_of(seen)), method=method)
        else:
            placement = METHODS[method](batch)
        document = as_document(placement)
        problems = problems_of(seen, document) if check else []
    if as_json:
        print_json(document)
    else:
        over = placement.makespan_s / placement.lower_bound_s - 1 if placement.lower_bound_s else 0.0
        print(f"{batch.jobs} jobs on {batch.accelerators} accelerators by {placement.method} ({batch.kind})")
        print(f"makespan     {format_duration(placement.makespan_s)}, at most {over:.2%} over the best there can be")
        print(f"lower bound  {format_duration(placement.lower_bound_s)}")
    for problem in problems:
        print_status(f"eddy: the answer is wrong: {problem}")
    if problems:
        raise typer.Exit(1)


def bound_of(batch: Instance) -> float:
    """What no placement of the whole batch can be better than."""
    from eddy.policy.place.joint import joint_bound
    from eddy.policy.place.price_and_pack import lower_bound

    return lower_bound(batch) if batch.size_bits is None else joint_bound(batch)


def read_instance(path: Path, method: str = "default") -> Instance:
    """An instance from a JSON file or a folder of `.npy` files; what the method does not look at may be incomplete.

    Raises:
        InvalidRequest: there is no such file, it is not JSON, or it is not an instance.
    """
    import json

    import numpy as np
    from eddy.core.errors import InvalidRequest
    from eddy.model.placement.instance import ARRAYS, NETWORK, instance_from

    raw: dict[str, Any]
    try:
        if path.is_dir():
            # Mapped, not read: a large table is then in memory once.
            raw = {
                name: np.load(path / f"{name}.npy", mmap_mode="r") for name in ARRAYS if (path / f"{name}.npy").exists()
            }
        else:
            raw = json.loads(path.read_text())
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror or error}", field="instance") from None
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path} does not hold an instance: {error}", field="instance") from None
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{path} does not hold an object of arrays.", field="instance", allowed=list(ARRAYS))
    if method == "computation":
        raw = {name: value for name, value in raw.items() if name not in NETWORK}
    return instance_from(raw)
