# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Place and route what `hw/area.yaml` says, and compare its clocks with those that are recorded.

tools/route.py            what is routed; exit 1 where a clock is slower than recorded by more than the margin
tools/route.py --core     what is only placed, too: the GPU core
tools/route.py --record   and record what came out: docs/reference/route.json, and the page docs/reference/area.md
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from area import PAGE, current_page
from area_report.routes import RECORD, read_record, row, summary, worse
from area_report.routing import place, read_routed, synthesize_between_registers, tools
from eddy.core.errors import EddyError


def main() -> int:
    """Run; the exit status is 1 where a clock is worse, or a tool failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    record = read_record()
    measured = {}
    try:
        for routed in read_routed():
            if routed.wires or options.core:
                synthesize_between_registers(routed)
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    runs = list(pool.map(lambda seed, routed=routed: place(routed, seed), routed.seeds))
                measured[routed.top.name] = summary(routed, runs)
    except (EddyError, subprocess.CalledProcessError) as error:
        print(f"route: {error}", file=sys.stderr)
        return 1
    for name, entry in measured.items():
        for clock, each in entry["clocks"].items():
            print(name, *filter(None, row(clock, each)), sep="  ")
    if options.record:
        record = {"tools": tools(), "tops": {**record["tops"], **measured}}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        PAGE.write_text(current_page(), encoding="utf-8")
        return 0
    slower = [text for name, entry in measured.items() for text in worse(name, entry, record)]
    for text in slower:
        print(f"route: {text}", file=sys.stderr)
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())
