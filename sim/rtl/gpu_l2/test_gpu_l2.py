"""The second-level cache of a GPU cluster by itself: a small one, so that lines are thrown out; and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import Bench, BenchFailed
from eddy_sim.filelist import read_filelist

FOLDER = Path(__file__).parent
FILELIST = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_l2" / "gpu_l2.f"
SIZE = 512

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cache")]


def run(filelist: Path) -> None:
    Bench("gpu_l2", filelist, parameters={"Bytes": SIZE, "Readers": 4, "Lines": 6, "Each": 4, "Writes": 3}).run(
        "cocotb_gpu_l2", FOLDER
    )


def test_random_traffic() -> None:
    run(FILELIST)


MUTATIONS = [
    ("gpu_l2.sv", "entry1_q.owner == ax_q.user", "1'b1"),
    ("gpu_l2.sv", "|| write_conflict ||", "||"),
    ("gpu_l2_fills.sv", "waits_q[start_id_i] != '0;", "1'b0;"),
    ("gpu_l2_fills.sv", "if (busy[p] && keep_q[p]", "if (!parked_q[p] && busy[p] && keep_q[p]"),
    ("gpu_l2_fills.sv", "|| (ends && beat_id_i == reader)", ""),
    ("gpu_l2.sv", "!(state_q == Stream && rsp_i.r.id == ax_q.id)", "1'b1"),
]


NAMES = [
    "any-context-hits",
    "reads-pass-writes",
    "hits-pass-misses",
    "parked-lose-ways",
    "turns-not-passed",
    "mixed-up",
]


@pytest.mark.parametrize(("file", "old", "new"), MUTATIONS, ids=NAMES)
def test_mutations_are_found(file: str, old: str, new: str, tmp_path: Path) -> None:
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == (path.name == file)
        (tmp_path / path.name).write_text(text.replace(old, new), encoding="utf-8")
    filelist = tmp_path / "gpu_l2.f"
    filelist.write_text("\n".join(path.name for path in read_filelist(FILELIST)), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run(filelist)
