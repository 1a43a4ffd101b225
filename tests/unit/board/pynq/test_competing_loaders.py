# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Other loaders of the fabric: what is seen of them, and what may be replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.board.pynq import competing_loaders, real_board
from eddy.core.errors import BoardNotReady, ForeignDesign

DFX_MGR, FPGAD = competing_loaders.LOADERS


def put(folder: Path, name: str, dtbo: bytes = b"", status: str = "applied\n") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "dtbo").write_bytes(dtbo)
    (folder / name / "status").write_text(status)


def test_a_daemon_is_found_by_the_name_of_its_process(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "17").mkdir()
    (tmp_path / "17/comm").write_text("bash\n")
    assert competing_loaders.find_running_loaders(tmp_path) == ()
    for number, process in ((18, "fpgad"), (19, "dfx-mgrd"), (20, "fpgad_cli")):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/comm").write_text(f"{process}\n")
    assert competing_loaders.find_running_loaders(tmp_path) == (DFX_MGR, FPGAD)


def test_overlays_that_came_with_a_design(tmp_path: Path) -> None:
    assert competing_loaders.designs_with_drivers(tmp_path / "nothing") == ()
    put(tmp_path, "eddy", b"firmware-name eddy.bin")
    put(tmp_path, "pmod", b"i2c@0")
    assert competing_loaders.designs_with_drivers(tmp_path) == (), "ours, and one that loads nothing"
    put(tmp_path, "smartcam", b"\0firmware-name\0smartcam.bit.bin")
    put(tmp_path, "by-a-path")
    assert competing_loaders.designs_with_drivers(tmp_path) == ("by-a-path", "smartcam"), "in doubt it did"


def test_whether_ours_is_in_place(tmp_path: Path) -> None:
    assert not competing_loaders.is_overlay_applied(overlays=tmp_path)
    put(tmp_path, "eddy", b"x", "unapplied\n")
    assert not competing_loaders.is_overlay_applied(overlays=tmp_path)
    (tmp_path / "eddy/status").write_text("applied\n")
    assert competing_loaders.is_overlay_applied(overlays=tmp_path)


@pytest.mark.parametrize(
    ("overlays", "take", "cause", "said"),
    [
        ((), False, "foreign-design", "eddy boardd --take-fabric"),
        (("smartcam",), False, "foreign-design", "sudo xmutil unloadapp"),
        (("smartcam",), True, "foreign-overlay", "sudo xmutil unloadapp"),
        ((), True, "", ""),
    ],
)
def test_what_may_be_taken_over(
    monkeypatch: pytest.MonkeyPatch, overlays: tuple[str, ...], take: bool, cause: str, said: str
) -> None:
    monkeypatch.setattr(competing_loaders, "designs_with_drivers", lambda: overlays)
    monkeypatch.setattr(competing_loaders, "find_running_loaders", lambda: (FPGAD, DFX_MGR))
    if not cause:
        real_board.check_take_over("why", take)
        return
    with pytest.raises(ForeignDesign, match=said) as refused:
        real_board.check_take_over("why", take)
    assert refused.value.details["cause"] == cause


def test_nothing_is_configured_beside_another_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competing_loaders, "find_running_loaders", tuple)
    real_board.check_alone()
    for loader, stop in ((DFX_MGR, "systemctl stop dfx-mgr"), (FPGAD, "snap stop --disable fpgad")):
        monkeypatch.setattr(competing_loaders, "find_running_loaders", lambda loader=loader: (loader,))
        with pytest.raises(BoardNotReady, match=stop) as refused:
            real_board.check_alone()
        assert refused.value.details["cause"] == loader.name
