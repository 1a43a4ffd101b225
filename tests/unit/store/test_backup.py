# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Backups: one instant of a store at work, whole or refused; restored, jobs that had not ended continue."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eddy.api.access.keys import KeyHasher, load_secret
from eddy.api.access.operator_account import ensure_operator
from eddy.cli.main import app
from eddy.core.errors import Conflict, InvalidRequest, StorageDamaged, StorageFailed, StorageFull
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.engine.engine import Engine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.schema import SchemaTooNew
from eddy.store.disk.files import DraftFile
from eddy.store.upkeep import backup
from eddy.store.upkeep.backup import NOTE, SUMS, UNFINISHED, write_backup
from eddy.store.upkeep.folder import RESTORING, DataFolder, findings
from eddy.store.upkeep.restore import restore
from eddy.store.upkeep.snapshot import snapshot
from hypervisor_kit import CHAIN, MODULES, TENANT, expected, model_board, put, request
from typer.testing import CliRunner


class ServingFolder:
    """A data folder with a store at work in it, and an engine that runs its jobs."""

    def __init__(self, path: Path) -> None:
        self.data = DataFolder(path)
        self.store = Store(self.data.database)
        self.hasher = KeyHasher(load_secret(self.data.secret, self.data.first_start))
        ensure_operator(self.store, self.hasher, self.data)
        if self.data.first_start:
            self.store.tenants.put(TenantRecord(TENANT))
        self.data.settle()
        self.engine = Engine(model_board(), POLICIES["fcfs"](), self.store, {CHAIN.name: CHAIN}, MODULES)
        self.engine.start()

    def submit(self, **named: Any) -> int:
        return self.engine.intake.accept(request(self.store, **named)).id

    def run(self) -> None:
        while not self.engine.is_idle:
            self.engine.step()

    def steps(self, until: Callable[[], bool]) -> None:
        while not until():
            self.engine.step()

    def close(self) -> None:
        self.store.close()
        self.data.close()


@pytest.fixture(autouse=True)
def not_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power goes here; waiting for the disk would be most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def work(path: Path) -> ServingFolder:
    """One job has ended, one is under way with an item done, one waits."""
    found = ServingFolder(path)
    first = found.submit(batch=2)
    found.run()
    second = found.submit(batch=3, salt=5)
    found.steps(lambda: found.store.jobs.get(TENANT, second).items_done >= 1)
    third = found.submit(batch=2, salt=6)
    assert (first, second, third) == (1, 2, 3)
    found.store.audit.note(found.hasher.hash, "operator", "k1", "drain-slot", {"slot": 1})
    applications = path / "applications"
    applications.mkdir()
    (applications / "mine.json").write_text("{}")
    return found


@pytest.fixture
def serving(tmp_path: Path) -> ServingFolder:
    """A server at work in `data`."""
    return work(tmp_path / "data")


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A data folder no server is at work in any more, and a backup of it."""
    path = tmp_path_factory.mktemp("worked")
    work(path / "data").close()
    write_backup(path / "data", path / "backup")
    return path / "data", path / "backup"


@pytest.fixture
def data(worked: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(worked[0], tmp_path / "data"))


@pytest.fixture
def taken(worked: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(worked[1], tmp_path / "backup"))


def test_what_is_restored_continues_where_the_backup_was_taken(serving: ServingFolder, tmp_path: Path) -> None:
    note = write_backup(tmp_path / "data", tmp_path / "backup")
    assert (note.jobs, note.damaged) == (3, ())
    serving.submit(batch=1, salt=7)  # after the backup
    serving.run()
    serving.close()
    assert restore(tmp_path / "backup", tmp_path / "again") == note
    assert (tmp_path / "again" / "applications" / "mine.json").read_text() == "{}"
    again = ServingFolder(tmp_path / "again")
    states = [(job.id, job.state.value) for job in reversed(again.store.lists.page(TENANT))]
    assert (states[0], states[2]) == ((1, "succeeded"), (3, "queued"))
    done = again.store.jobs.get(TENANT, 2).items_done
    assert done >= 1
    again.run()
    for number, batch, salt in ((1, 2, 0), (2, 3, 5), (3, 2, 6)):
        assert again.store.outputs.read(TENANT, number, "out") == expected(batch, salt)
    assert again.store.sweep() == []
    assert again.submit() == 4
    key = (tmp_path / "again" / "operator.key").read_text().strip()
    operator = again.store.tenants.by_key(again.hasher.hash(key))
    assert operator is not None
    assert operator.admin
    again.close()


def test_every_file_is_private_and_its_hash_is_listed(data: Path, tmp_path: Path) -> None:
    into = tmp_path / "backup"
    note = write_backup(data, into)
    files = {str(path.relative_to(into)): path for path in into.rglob("*") if path.is_file()}
    listed = dict(line.split("  ", 1)[::-1] for line in (into / SUMS).read_text().splitlines())
    assert set(files) == {*listed, SUMS, NOTE}
    assert {name: hashlib.sha256(files[name].read_bytes()).hexdigest() for name in listed} == listed
    assert {oct(path.stat().st_mode & 0o777) for path in files.values()} == {"0o600"}
    assert note.files == len(listed)
    assert note.size_bytes == sum(files[name].stat().st_size for name in listed)
    # What an output has beyond its rows is not copied: rows say where it ends.
    with (data / "outputs" / "1.out").open("ab") as file:
        file.write(b"left by a crash")
    write_backup(data, tmp_path / "second")
    assert (tmp_path / "second" / "outputs" / "1.out").read_bytes() == expected(2)


def test_what_goes_while_it_is_copied_is_not_missed(
    serving: ServingFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant deletes a blob, and a job ends, between the copy of the data base and that of the files."""
    unused = put(serving.store, TENANT, b"nobody needs it")
    taken = snapshot
    count = 0

    def and_then(*where: Path) -> Any:
        nonlocal count
        found = taken(*where)
        count += 1
        if count == 1:
            serving.run()
            serving.store.blobs.drop(TENANT, unused)
        return found

    monkeypatch.setattr(backup, "snapshot", and_then)
    note = write_backup(tmp_path / "data", tmp_path / "backup")
    assert (note.damaged, count) == ((), 2)
    restore(tmp_path / "backup", tmp_path / "again")
    again = Store(tmp_path / "again" / "eddy.sqlite3")
    assert not again.blobs.has(TENANT, unused)
    assert again.outputs.read(TENANT, 2, "out") == expected(3, 5)


def test_what_goes_faster_than_it_is_copied_ends_the_backup(
    serving: ServingFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, count = snapshot, 0

    def and_then(*where: Path) -> Any:
        nonlocal count
        count += 1
        blob = put(serving.store, TENANT, bytes([count]))
        found = taken(*where)
        serving.store.blobs.drop(TENANT, blob)
        return found

    monkeypatch.setattr(backup, "snapshot", and_then)
    with pytest.raises(StorageFailed, match="take the backup again"):
        write_backup(tmp_path / "data", tmp_path / "backup")
    assert count == backup.TRIES
    assert UNFINISHED in os.listdir(tmp_path / "backup")


def test_what_was_damaged_already_is_named_and_the_rest_is_kept(data: Path, tmp_path: Path) -> None:
    with contextlib.closing(Store(data / "eddy.sqlite3")) as store:
        lost, told = put(store, TENANT, b"lost"), store.numbers.job.public_id(1)
    (data / "blobs" / f"t-{TENANT}" / lost).unlink()
    (data / "outputs" / "1.out").write_bytes(bytes(128))
    done = CliRunner().invoke(app, ["backup", str(tmp_path / "b"), "--data", str(data), "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)["damaged"]
    assert len(found) == 2
    assert f"blob {lost} of tenant {TENANT} is damaged: it is missing" in found[0]
    assert f"output out of job {told} is damaged: the sha256 of bytes 0 to 64" in found[1]
    restore(tmp_path / "b", tmp_path / "again")
    again = ServingFolder(tmp_path / "again")
    again.run()
    assert again.store.outputs.read(TENANT, 3, "out") == expected(2, 6)
    again.close()


def test_a_damaged_data_base_is_not_backed_up(data: Path, tmp_path: Path) -> None:
    database = data / "eddy.sqlite3"
    raw = bytearray(database.read_bytes())
    raw[4096 * 3 : 4096 * 4] = bytes(4096)
    database.write_bytes(raw)
    with pytest.raises(StorageDamaged, match=r"eddy\.sqlite3 is damaged"):
        write_backup(data, tmp_path / "backup")
    assert NOTE not in os.listdir(tmp_path / "backup")


def test_without_a_server_too_and_after_a_kill(serving: ServingFolder, tmp_path: Path) -> None:
    killed = Path(shutil.copytree(tmp_path / "data", tmp_path / "killed"))  # as it is after a kill: with its log
    (killed / "lock").write_text('{"pid": 1, "open": true}')
    serving.close()
    for name in ("data", "killed"):
        before = sorted(os.listdir(tmp_path / name))
        note = write_backup(tmp_path / name, tmp_path / f"b-{name}")
        assert (note.jobs, note.damaged) == (3, ())
        assert sorted(set(os.listdir(tmp_path / name)) - {"eddy.sqlite3-shm"}) == [
            each for each in before if each != "eddy.sqlite3-shm"
        ]
        ServingFolder(tmp_path / name).close()  # what the last server left is still told apart


def test_a_folder_of_an_older_version_is_backed_up_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "secret").write_bytes(bytes(32))
    with contextlib.closing(sqlite3.connect(data / "eddy.sqlite3")) as db:
        db.executescript(Path(__file__).with_name("store_schema_2.sql").read_text(encoding="utf-8"))
    assert write_backup(data, tmp_path / "backup").schema == 2
    restore(tmp_path / "backup", tmp_path / "again")
    with contextlib.closing(Store(tmp_path / "again" / "eddy.sqlite3")) as store:
        assert store.outputs.read(TENANT, 1, "out") == expected(batch=3)


@pytest.mark.parametrize("what", ["file", "folder", "backup", "within"])
def test_where_a_backup_may_not_go(data: Path, tmp_path: Path, what: str) -> None:
    into = tmp_path / "there"
    if what == "file":
        into.write_text("x")
    elif what == "folder":
        into.mkdir()
        (into / "letter.txt").write_text("mine")
    elif what == "backup":
        write_backup(data, into)
    else:
        into = data / "backup"
    says = {"file": "is a file", "folder": "is not empty", "backup": "has a backup already", "within": "is within"}
    with pytest.raises(InvalidRequest, match=says[what]):
        write_backup(data, into)
    if what == "folder":
        assert os.listdir(into) == ["letter.txt"]


class Cut(BaseException):
    """The process ends here."""


def cut_at(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> Callable[[], int]:
    """Have the n-th file that is kept fail; answers how many were."""
    keep, count = DraftFile.keep, 0

    def cut(draft: DraftFile, path: Path) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise error
        keep(draft, path)

    monkeypatch.setattr(DraftFile, "keep", cut)
    return lambda: count


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def test_a_backup_that_is_cut_short_anywhere_is_none_and_is_begun_again(data: Path, tmp_path: Path) -> None:
    into, number = tmp_path / "backup", 0
    while True:
        number += 1
        with pytest.MonkeyPatch.context() as patched:
            cut_at(patched, number, Cut() if number % 2 else StorageFull("full"))
            try:
                write_backup(data, into)
                break
            except (Cut, StorageFull):
                pass
        with pytest.raises(InvalidRequest, match="cut short"):
            restore(into, tmp_path / "again")
        assert not (tmp_path / "again").exists()
    assert number > 10
    restore(into, tmp_path / "again")


def test_a_restore_that_is_cut_short_anywhere_starts_no_server(data: Path, tmp_path: Path) -> None:
    into, again, number = tmp_path / "backup", tmp_path / "again", 0
    write_backup(data, into)
    while True:
        number += 1
        with pytest.MonkeyPatch.context() as patched:
            cut_at(patched, number, Cut() if number % 2 else StorageFull("full"))
            try:
                restore(into, again)
                break
            except (Cut, StorageFull):
                pass
        with pytest.raises(StorageDamaged, match="a restore was cut short"):
            DataFolder(again)
        assert any("cut short" in found for _, ok, found, _ in findings(again) if not ok)
    assert number > 10
    ServingFolder(again).close()


@pytest.mark.parametrize("where", ["backup", "restore"])
def test_a_full_disk_is_said_in_a_sentence(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    into = tmp_path / "backup"
    if where == "restore":
        write_backup(data, into)
    with monkeypatch.context() as patched:
        patched.setattr("eddy.store.disk.files.write_all", lambda *_: (_ for _ in ()).throw(full()))
        with pytest.raises(StorageFull, match="is full"):
            restore(into, tmp_path / "again") if where == "restore" else write_backup(data, into)
    with monkeypatch.context() as patched:
        module = "eddy.store.upkeep.restore" if where == "restore" else "eddy.store.upkeep.backup"
        patched.setattr(f"{module}.free_bytes", lambda _: 10)
        with pytest.raises(StorageFull, match="and 10 bytes are free"):
            restore(into, tmp_path / "third") if where == "restore" else write_backup(data, into)
    restore(into, tmp_path / "again") if where == "restore" else write_backup(data, into)


def test_a_data_folder_with_anything_in_it_is_left_alone(data: Path, taken: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in data.iterdir() if path.is_file()}
    with pytest.raises(Conflict, match="nothing is restored over it"):
        restore(taken, data)
    assert {path: path.read_bytes() for path in before} == before
    (tmp_path / "mounted" / "lost+found").mkdir(parents=True)
    restore(taken, tmp_path / "mounted")


def test_every_damaged_or_missing_file_is_named(taken: Path, tmp_path: Path) -> None:
    names = [line.split("  ", 1)[1] for line in (taken / SUMS).read_text().splitlines()]
    for number, name in enumerate([*names, SUMS, NOTE]):
        file = taken / name
        good = file.read_bytes()
        bad = bytes([good[0] ^ 1]) + good[1:] if good else b"x"
        file.write_bytes(bad)
        again = tmp_path / f"again{number}"
        with pytest.raises(StorageDamaged, match=f"{name} .*not what was written"):
            restore(taken, again)
        assert not (again / "eddy.sqlite3").exists() or (again / RESTORING).exists()
        if name not in (SUMS, NOTE):
            file.unlink()
            with pytest.raises(StorageDamaged, match=f"{name} is missing"):
                restore(taken, again)
        file.write_bytes(good)
    restore(taken, tmp_path / "again0")  # begun there, and finished by a good backup


@pytest.mark.parametrize("name", ["../escape", "blobs/../../escape", "/etc/escape", "lock", "blobs/x", "a/b"])
def test_nothing_else_than_a_data_folder_is_written(taken: Path, tmp_path: Path, name: str) -> None:
    sums = (taken / SUMS).read_text() + f"{'00' * 32}  {name}\n"
    (taken / SUMS).write_text(sums)
    note = json.loads((taken / NOTE).read_text())
    note["sums_sha256"] = hashlib.sha256(sums.encode()).hexdigest()
    (taken / NOTE).write_text(json.dumps(note))
    with pytest.raises(StorageDamaged, match="names a file that no backup holds"):
        restore(taken, tmp_path / "again")


def test_a_newer_backup_is_refused_before_anything_is_made(taken: Path, tmp_path: Path) -> None:
    note = json.loads((taken / NOTE).read_text())
    for change in ({"schema": note["schema"] + 1}, {"format": 2}):
        (taken / NOTE).write_text(json.dumps({**note, **change}))
        with pytest.raises(SchemaTooNew, match="upgrade Eddy, then restore"):
            restore(taken, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"taken_unix_s": "yesterday"},
        {"taken_unix_s": 1e300},
        {"taken_unix_s": float("nan")},
        {"jobs": "3"},
        {"jobs": True},
        {"files": -1},
        {"damaged": [3]},
        {"damaged": None},
        {"eddy": None},
        {"sums_sha256": 5},
    ],
)
def test_a_note_that_was_changed_is_refused_before_anything_is_made(
    taken: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    note = json.loads((taken / NOTE).read_text())
    (taken / NOTE).write_text(json.dumps({**note, **change}))
    with pytest.raises(StorageDamaged, match="not what was written"):
        restore(taken, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("left_out", ["eddy.sqlite3", "secret", ""])
def test_a_list_that_was_changed_is_refused_before_anything_is_made(taken: Path, tmp_path: Path, left_out: str) -> None:
    """A server that found no secret, or no data base, would begin a new one, and nobody's key would be good."""
    lines = [line for line in (taken / SUMS).read_text().splitlines() if left_out and not line.endswith(left_out)]
    sums = "\n".join([*lines, "" if left_out else "x"]).encode()
    (taken / SUMS).write_bytes(sums)
    note = json.loads((taken / NOTE).read_text())
    (taken / NOTE).write_text(json.dumps({**note, "sums_sha256": hashlib.sha256(sums).hexdigest()}))
    with pytest.raises(StorageDamaged, match=SUMS):
        restore(taken, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_commands(data: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    again = str(tmp_path / "again")
    done = run(app, ["backup", str(tmp_path / "b"), "--data", str(data)])
    assert (done.exit_code, "3 jobs" in done.stderr) == (0, True)
    done = run(app, ["restore", str(tmp_path / "b"), "--data", again])
    assert (done.exit_code, "continues from there" in done.stderr) == (0, True), done.stderr
    done = run(app, ["audit", "verify", "--data", again, "--json"])
    assert (done.exit_code, json.loads(done.stdout)["entries"]) == (0, 2)
    store = Store(tmp_path / "again" / "eddy.sqlite3")
    assert store.audit.entries()[-1].action == "restore-backup"
    store.close()
    assert run(app, ["restore", str(tmp_path / "b"), "--data", again]).exit_code == 2
    assert run(app, ["restore", str(tmp_path), "--data", again]).exit_code == 2
    assert run(app, ["backup", str(tmp_path / "c"), "--data", str(tmp_path / "nothing")]).exit_code == 2
