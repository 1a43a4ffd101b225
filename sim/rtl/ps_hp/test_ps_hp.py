"""Runs the bench of the adapter to the processing system's memory port, and shows that it finds mistakes in the ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench, BenchFailed
from eddy_sim.filelist import read_filelist

HERE = Path(__file__).parent
FILELIST = ROOT / "hw/ip/ps_hp/ps_hp.f"
MISTAKES = {
    "another's id": ("gone.shared == shared && under_way != '1", "under_way != '1"),
    "too many": ("gone.shared == shared && under_way != '1", "gone.shared == shared"),
}


@pytest.mark.rtl
def test_ps_hp() -> None:
    Bench("ps_hp", FILELIST).run("cocotb_ps_hp", HERE)


@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str, tmp_path: Path) -> None:
    old, new = MISTAKES[mistake]
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == (path.name == "ps_ids.sv")
        (tmp_path / path.name).write_text(text.replace(old, new), encoding="utf-8")
    filelist = tmp_path / "ps_hp.f"
    filelist.write_text("\n".join(path.name for path in read_filelist(FILELIST)), encoding="utf-8")
    with pytest.raises(BenchFailed):
        Bench("ps_hp", filelist).run("cocotb_ps_hp", HERE)
