"""The first-level caches of a GPU core by themselves; small ones, down to one line, so that all is thrown out."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import Bench, BenchFailed
from eddy_sim.filelist import read_filelist

FOLDER = Path(__file__).parent
FILELIST = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_cache" / "gpu_cache.f"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cache")]


def run_dcache(size: int, local: int, threads: int, filelist: Path = FILELIST) -> None:
    parameters = {"Bytes": size, "LocalBytes": local, "Threads": threads, "TagWidth": 8}
    environment = {"DCACHE_THREADS": str(threads), "DCACHE_LOCAL": str(local)}
    Bench("gpu_dcache", filelist, parameters=parameters).run("cocotb_gpu_dcache", FOLDER, environment=environment)


@pytest.mark.parametrize(("size", "local", "threads"), [(128, 64, 3), (512, 1024, 4)])
def test_data_cache(size: int, local: int, threads: int) -> None:
    run_dcache(size, local, threads)


@pytest.mark.parametrize("size", [64, 512])
def test_instruction_cache(size: int) -> None:
    Bench("gpu_icache", FILELIST, parameters={"Bytes": size}).run("cocotb_gpu_icache", FOLDER)


MUTATIONS = {
    "store-into-a-leaving-line": ("gpu_store_buffer.sv", "if (wr_valid_o) open[send_q] = 1'b0;", ""),
    "fence-keeps-lines": (
        "gpu_dcache.sv",
        "if (clear_i || end_fence || amo_finish_drop)",
        "if (clear_i || amo_finish_drop)",
    ),
    "store-to-a-line-on-its-way": ("gpu_dcache.sv", "sb_ready && !coming &&", "sb_ready &&"),
    "atomic-on-an-old-copy": ("gpu_dcache.sv", "if (whole || amo_drop) begin", "if (whole) begin"),
    "row-before-it-was-written": ("gpu_dcache.sv", "stale = whole_q || (wrote_q &&", "stale = whole_q || (1'b0 &&"),
    "last-beat-before-it-was-written": ("gpu_dcache.sv", "stale = whole_q ||", "stale ="),
    "hit-in-a-line-on-its-way": ("gpu_dcache.sv", "((hit0 || hit1) && !coming)", "hit0 || hit1"),
    "unlocked-before-it-landed": ("gpu_dcache_amo.sv", "if (!conflict_i) begin", "if (1'b1) begin"),
}


@pytest.mark.parametrize(("file", "old", "new"), MUTATIONS.values(), ids=MUTATIONS)
def test_mutations_are_found(file: str, old: str, new: str, tmp_path: Path) -> None:
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        assert (old in text) == (path.name == file)
        (tmp_path / path.name).write_text(text.replace(old, new), encoding="utf-8")
    filelist = tmp_path / "gpu_cache.f"
    filelist.write_text("\n".join(path.name for path in read_filelist(FILELIST)), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_dcache(512, 1024, 4, filelist)
