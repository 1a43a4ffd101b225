# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The data folder: held by one server, private, and never taken for new when something is missing or damaged;
one that is moved away under a server promises nothing any more."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from eddy.api.access.keys import KeyHasher, load_secret
from eddy.api.access.operator_account import OPERATOR, ensure_operator
from eddy.cli.main import app
from eddy.core.errors import (
    EddyError,
    InvalidRequest,
    NotFound,
    StorageDamaged,
    StorageFailed,
    StorageInUse,
)
from eddy.core.jobs import JobState
from eddy.core.records import JobRequest
from eddy.gpu.compilation.program_cache import ProgramCache
from eddy.gpu.programs.program import Program
from eddy.host.files import FolderLock, write_private
from eddy.host.presence import announce_server, operator_key
from eddy.packages.catalogue import load_catalogue
from eddy.store import Store
from eddy.store.db.check import examine
from eddy.store.db.database import Database
from eddy.store.db.schema import SchemaTooNew
from eddy.store.disk.files import make_folder
from eddy.store.upkeep.folder import DataFolder, findings
from hypervisor_kit import TENANT, put, request
from typer.testing import CliRunner

JOBS = 40


def start(path: Path) -> tuple[DataFolder, Store, bool]:
    """What a server does with its folder before it serves; the folder, the store, and whether a key was made."""
    with contextlib.ExitStack() as undo:
        data = DataFolder(path)
        undo.callback(data.close)
        store = Store(data.database)
        undo.callback(store.close)
        hasher = KeyHasher(load_secret(data.secret, data.first_start))
        new = ensure_operator(store, hasher, data)
        data.settle("http://127.0.0.1:1")
        undo.pop_all()
        return data, store, new


def stop(data: DataFolder, store: Store) -> None:
    store.close()
    data.close()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder a server has worked in, and ended in order."""
    path = tmp_path_factory.mktemp("used") / "data"
    data, store, new = start(path)
    assert new
    for number in range(JOBS):
        store.submissions.add_job(JobRequest("a", "app", 1, {"in": ("00" * 32,)}, idempotency_key=str(number)), 0.0)
    stop(data, store)
    return path


@pytest.fixture
def folder(used: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(used, tmp_path / "data"))


def test_a_folder_is_private_from_the_first_byte(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        data, store, new = start(tmp_path / "data")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "data").iterdir()}
        stop(data, store)
    finally:
        os.umask(before)
    assert new
    parts = {"eddy.sqlite3", "eddy.sqlite3-wal", "eddy.sqlite3-shm", "secret", "operator.key", "lock"}
    assert set(modes) - {"eddy.sqlite3-promised"} == parts
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_files_others_could_read_are_mended(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.chmod(0o755)
    for each in folder.iterdir():
        each.chmod(0o664)
    stop(*start(folder)[:2])
    names = ("eddy.sqlite3", "secret", "operator.key", "lock")
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in names} == {0o600}
    for name in names:
        assert sum(f"{name} could be read by others" in message for message in caplog.messages) == 1


def test_a_second_server_is_told_who_has_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "data"
    script = "import sys, eddy.store.upkeep.folder as f; d = f.DataFolder(__import__('pathlib').Path(sys.argv[1]))\n"
    script += "d.settle('http://127.0.0.1:4711'); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StorageInUse, match=rf"process {process.pid}, serving http://127.0.0.1:4711,"):
            DataFolder(path)
        done = CliRunner().invoke(app, ["serve", "--board", "model", "--port", "0", "--data", str(path)])
        assert (done.exit_code, str(process.pid) in done.stderr) == (6, True)
        found = CliRunner().invoke(app, ["doctor", "--data", str(path), "--json"])
        checks = {entry["check"]: entry["found"] for entry in json.loads(found.stdout)["checks"]}
        assert str(process.pid) in checks["data lock"]
        process.kill()
    # A lock that a dead process left holds nobody up, though what it wrote is still there.
    FolderLock(path / "lock", "it").release()


def test_a_first_start_that_was_cut_short_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "data"
    data = DataFolder(path)
    assert data.first_start
    data.secret.write_bytes(b"half")
    data.database.write_bytes(b"")
    data.close()
    data, store, new = start(path)
    assert (data.first_start, new) == (True, True)
    stop(data, store)
    data, store, new = start(path)
    assert (data.first_start, new) == (False, False)
    stop(data, store)


@pytest.mark.parametrize("kept", [{"secret"}, {"operator.key"}, {"eddy.sqlite3-wal"}, {"secret", "operator.key"}])
def test_a_missing_data_base_is_damage_not_a_first_start(folder: Path, kept: set[str]) -> None:
    (folder / "eddy.sqlite3-wal").write_bytes(b"left")
    before = {name: (folder / name).read_bytes() for name in kept}
    for each in folder.iterdir():
        if each.name not in kept:
            each.unlink()
    with pytest.raises(StorageDamaged, match="sqlite3 is missing next to"):
        start(folder)
    assert {name: (folder / name).read_bytes() for name in kept} == before


def _empty(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, 0)


def _noise(folder: Path) -> None:
    (folder / "eddy.sqlite3").write_bytes(random.Random(1).randbytes(8192))


def _directory(folder: Path) -> None:
    (folder / "eddy.sqlite3").unlink()
    (folder / "eddy.sqlite3").mkdir()


def _other_secret(folder: Path) -> None:
    (folder / "secret").write_bytes(b"x" * 32)


def _other_program(folder: Path) -> None:
    (folder / "eddy.sqlite3").unlink()
    with contextlib.closing(sqlite3.connect(folder / "eddy.sqlite3")) as db:
        db.execute("CREATE TABLE songs (title TEXT)")


def _older_number(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "eddy.sqlite3")) as db:
        db.execute("PRAGMA user_version = 1")


def _lost_log(folder: Path) -> None:
    (folder / "lock").write_text('{"pid": 1, "open": true}')


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_empty("eddy.sqlite3"), "it is empty"),
        (_noise, "does not start like an SQLite data base"),
        (_directory, "is a folder, not a file"),
        (_other_program, "another program's"),
        (_older_number, "already exists"),
        (lambda folder: (folder / "secret").unlink(), "secret is missing"),
        (_empty("secret"), "secret has 0 of 32 bytes"),
        (_other_secret, "is not the one"),
        (_lost_log, "eddy.sqlite3-wal is missing"),
    ],
)
def test_damage_is_named_with_what_helps_and_changes_nothing(
    folder: Path, harm: Callable[[Path], None], says: str
) -> None:
    key = (folder / "operator.key").read_bytes()
    harm(folder)
    for _ in range(2):  # the second start sees what the first one saw
        with pytest.raises(StorageDamaged, match=says) as raised:
            start(folder)
        assert "\n" not in raised.value.message
        assert "backup" in raised.value.message or "restore it" in raised.value.message
    assert (folder / "operator.key").read_bytes() == key
    done = CliRunner().invoke(app, ["serve", "--board", "model", "--port", "0", "--data", str(folder)])
    assert done.exit_code == 6
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_write_ahead_log_that_is_left_is_taken_up(folder: Path) -> None:
    data, store, _ = start(folder)
    store.submissions.add_job(JobRequest("a", "app", 1, {"in": ("00" * 32,)}), 0.0)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)  # as a kill leaves it
    stop(data, store)
    assert (copy / "eddy.sqlite3-wal").stat().st_size > 0
    data, store, _ = start(copy)
    assert len(store.jobs.unfinished()) == JOBS + 1
    stop(data, store)


def _cut(log: Path) -> None:
    os.truncate(log, log.stat().st_size - 100)


def _turn_a_bit(log: Path) -> None:
    with log.open("r+b") as file:
        file.seek(log.stat().st_size - 4096)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def _spoil_the_beginning(log: Path) -> None:
    with log.open("r+b") as file:
        file.write(b"\0" * 8)


@pytest.mark.parametrize("harm", [_cut, _turn_a_bit, _spoil_the_beginning, lambda log: os.truncate(log, 0)])
def test_a_log_that_lost_its_end_is_said_at_the_start_and_by_doctor(folder: Path, harm: Callable[[Path], None]) -> None:
    data, store, _ = start(folder)
    for _ in range(3):
        store.submissions.add_job(JobRequest("a", "app", 1, {"in": ("00" * 32,)}), 0.0)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    stop(data, store)
    log = copy / "eddy.sqlite3-wal"
    harm(log)
    held = log.read_bytes()
    for _ in range(2):
        with pytest.raises(StorageDamaged, match=r"lost its end: [0-9]+ of [0-9]+ pages are there"):
            start(copy)
    assert log.read_bytes() == held
    found = {name: (well, said) for name, well, said, _ in findings(copy)}
    assert not found["data files"][0]
    assert "lost its end" in found["data files"][1]
    (copy / "eddy.sqlite3-promised").unlink()
    data, store, _ = start(copy)  # the operator gave them up
    assert JOBS <= len(store.jobs.unfinished()) <= JOBS + 3
    stop(data, store)


def test_a_log_that_begins_anew_or_ends_in_order_has_lost_nothing(folder: Path) -> None:
    data, store, _ = start(folder)
    for round_ in range(3):
        for _ in range(3):
            store.submissions.add_job(JobRequest("a", "app", 1, {"in": ("00" * 32,)}), 0.0)
        if round_ == 1:
            store.database._connection.execute("PRAGMA wal_checkpoint(RESTART)")
        if round_ == 2:
            assert store.database.empty_log()
        copy = folder.with_name(f"copy{round_}")
        shutil.copytree(folder, copy)
        again, copied, _ = start(copy)
        assert len(copied.jobs.unfinished()) == JOBS + 3 * (round_ + 1)
        stop(again, copied)
    store.submissions.add_job(JobRequest("a", "app", 1, {"in": ("00" * 32,)}), 0.0)
    stop(data, store)
    data, store, _ = start(folder)
    assert len(store.jobs.unfinished()) == JOBS + 10
    stop(data, store)


def test_an_operator_asks_for_a_new_key_by_emptying_its_file(folder: Path) -> None:
    old = (folder / "operator.key").read_bytes()
    (folder / "operator.key").write_bytes(b"")
    data, store, new = start(folder)
    assert new
    assert (folder / "operator.key").read_bytes() not in (b"", old)
    stop(data, store)
    (folder / "operator.key").unlink()
    data, store, new = start(folder)
    assert not new, "a key that was put into a safe stays valid"
    assert store.tenants.get(OPERATOR).admin
    stop(data, store)


def test_a_newer_schema_is_left_alone(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "eddy.sqlite3")) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew, match="upgrade Eddy"):
        start(folder)


@pytest.mark.parametrize("name", ["job_by_tenant", "job_unfinished", "tenant_by_key", "event_by_job"])
def test_a_damaged_index_is_built_again_and_said(folder: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    path = folder / "eddy.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size + size // 2)
        file.write(b"\xa5" * (size // 2))
    data, store, _ = start(folder)
    assert len(store.lists.page("a", limit=100)) == JOBS
    assert examine(store.database._connection) == []
    stop(data, store)
    assert [message for message in caplog.messages if "REINDEX" in message]
    caplog.clear()
    stop(*start(folder)[:2])
    assert not caplog.messages


def use(folder: Path) -> int:
    """Start on a folder and ask for everything in it; answers how many jobs could be read."""
    data, store, _ = start(folder)
    read = 0
    try:
        store.jobs.unfinished()
        for call in (
            lambda: store.lists.page(None, limit=1000),
            lambda: store.events.list_events(None, None),
            store.tenants.all,
        ):
            with contextlib.suppress(StorageFailed):
                call()
        for number in range(1, JOBS + 1):
            with contextlib.suppress(StorageFailed, NotFound):
                read += store.jobs.get("a", number).tenant == "a"
        with contextlib.suppress(StorageFailed):
            store.submissions.add_job(JobRequest("b", "app", 1, {"in": ("00" * 32,)}, idempotency_key="k"), 0.0)
    finally:
        stop(data, store)
    return read


@pytest.mark.parametrize("seed", range(15))
def test_a_data_base_cut_short_is_always_damage(folder: Path, seed: int) -> None:
    path = folder / "eddy.sqlite3"
    os.truncate(path, random.Random(seed).randrange(path.stat().st_size))
    with pytest.raises(StorageDamaged):
        use(folder)


@pytest.mark.parametrize("seed", range(30))
def test_flipped_bits_never_end_in_anything_but_a_sentence(folder: Path, seed: int) -> None:
    dice, path = random.Random(seed), folder / "eddy.sqlite3"
    data = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 8, 200))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)
    with contextlib.suppress(EddyError):  # and nothing else
        assert use(folder) <= JOBS


def test_a_job_whose_row_is_damaged_ends_and_the_others_go_on(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / "eddy.sqlite3")) as db:
        db.execute("UPDATE job SET record = '{' WHERE id = 3")
        db.execute("UPDATE job SET snapshot = CAST(x'ff00' AS TEXT) WHERE id = 5")
        db.commit()
    data, store, _ = start(folder)
    assert [job.record.id for job in store.jobs.unfinished()] == [n for n in range(1, JOBS + 1) if n not in (3, 5)]
    for number in (3, 5):
        record = store.jobs.get("a", number)
        assert (record.state, record.cause) == (JobState.FAILED, "storage-damaged")
        assert record.submitted_unix_s > 1e9, "when it came is in the row still"
    assert len(store.lists.page("a", limit=100)) == JOBS
    stop(data, store)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(os.path.relpath(path))


def _precious(path: Path) -> Path:
    """A file, or folder, of somebody else that a link leads to."""
    target = path.parent.with_name("elsewhere")
    target.mkdir(exist_ok=True)
    (target / path.name).write_bytes(b"precious")
    (target / path.name).chmod(0o644)
    return target / path.name


KINDS: Mapping[str, Callable[[Path], None]] = {
    "a folder": lambda path: path.mkdir(),
    "a named pipe": _pipe,
    "a socket": _socket,
    "a symbolic link": lambda path: path.symlink_to(_precious(path)),
}
PARTS = ("lock", "eddy.sqlite3", "eddy.sqlite3-wal", "eddy.sqlite3-shm", "secret", "operator.key", "serving.json")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", [*PARTS, "beginning"])
def test_a_part_of_another_kind_is_named_and_never_opened(folder: Path, part: str, kind: str) -> None:
    (folder / part).unlink(missing_ok=True)
    KINDS[kind](folder / part)
    before = sorted(entry.name for entry in folder.iterdir())
    with pytest.raises(StorageDamaged, match=f"{part} is {kind}, not a file: ") as raised:
        DataFolder(folder)
    assert "\n" not in raised.value.message
    assert [found[2] for found in findings(folder)] == [raised.value.message], "as `eddy doctor` says it"
    assert sorted(entry.name for entry in folder.iterdir()) == before
    if kind == "a symbolic link":
        target = _precious(folder / part)
        assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"precious", 0o644)


@pytest.mark.parametrize("part", ["blobs", "outputs", "applications"])
@pytest.mark.parametrize("kind", ["a named pipe", "a socket", "a symbolic link"])
def test_a_folder_of_another_kind_is_named(folder: Path, part: str, kind: str) -> None:
    KINDS[kind](folder / part)
    with pytest.raises(StorageDamaged, match=f"{part} is {kind}, not a folder: "):
        DataFolder(folder)


def test_a_folder_may_be_a_link_to_one_on_another_disk(folder: Path) -> None:
    elsewhere = folder.with_name("large")
    elsewhere.mkdir()
    (folder / "blobs").symlink_to(elsewhere)
    data, store, _ = start(folder)
    store.blobs.put("operator", hashlib.sha256(b"x").hexdigest(), b"x")
    stop(data, store)
    assert list(elsewhere.rglob(hashlib.sha256(b"x").hexdigest()))


@pytest.mark.parametrize("file", ["serving.json", "operator.key"])
def test_a_command_does_not_wait_for_a_pipe(folder: Path, file: str) -> None:
    with announce_server(folder, "http://127.0.0.1:1"):
        (folder / file).unlink()
        os.mkfifo(folder / file)
        assert operator_key(folder, "http://127.0.0.1:1") == ""


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidRequest, match="file"):
            DataFolder(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.chmod(0o500)
    try:
        with pytest.raises(StorageFailed, match="cannot be written"):
            start(folder)
    finally:
        folder.chmod(0o700)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_private(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFailed, match="is full"):
        write_private(path, b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])


def test_a_full_disk_is_said_and_forgotten_once_there_is_room(tmp_path: Path) -> None:
    database = Database(tmp_path / "data.sqlite3")
    write = database._connection.execute
    (pages,) = write("PRAGMA page_count").fetchone()
    write(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        with database.transaction() as db:
            db.execute("INSERT INTO meta VALUES ('big', ?)", ("x" * 100_000,))

    with pytest.raises(StorageFailed, match="is full"):
        fill()
    assert database.health.problem is not None
    assert database.health.problem.code == "storage-full"
    write("PRAGMA max_page_count = 1000000")
    database.probe()
    assert database.health.problem is None
    fill()
    assert database.row("SELECT length(value) AS n FROM meta WHERE key = 'big'")["n"] == 100_000
    database.close()


def test_an_added_application_that_is_damaged_is_named(folder: Path) -> None:
    (folder / "applications").mkdir()
    for text in ("", "{", "[]", '{"application": 3}'):
        (folder / "applications" / "mine.json").write_text(text)
        with pytest.raises(StorageDamaged, match="does not hold an application"):
            load_catalogue(folder / "nothing", folder / "applications")
    (folder / "applications" / "mine.json").unlink()
    os.mkfifo(folder / "applications" / "mine.json")
    with pytest.raises(StorageDamaged, match="is no file"):
        load_catalogue(folder / "nothing", folder / "applications")


def test_a_kernel_cache_that_cannot_be_written_keeps_no_kernel_from_running(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    program = Program("0" * 64, b"", True, {}, 0, False, "")
    ProgramCache(tmp_path / "file" / "cache").keep(program, "")
    assert "is not kept" in caplog.messages[-1]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store(tmp_path / "data" / "eddy.sqlite3")) as store:
        put(store, TENANT, b"before")
        yield store


@pytest.mark.parametrize("another", [False, True])
def test_nothing_is_taken_while_it_is_away(store: Store, tmp_path: Path, another: bool) -> None:
    asked = request(store)
    assert store.problem is None
    (tmp_path / "data").rename(tmp_path / "moved")
    if another:
        (tmp_path / "data").mkdir()
    assert "was moved or removed" in str(store.problem)
    with pytest.raises(StorageFailed, match=r"data was moved.*put it back"):
        store.submissions.add_job(asked, 0.0)
    with pytest.raises(StorageFailed):
        put(store, TENANT, b"meanwhile")
    if not another:
        with pytest.raises(StorageFailed), store.partials.adding(TENANT, "0" * 64, 0):
            pass
    assert (tmp_path / "data").exists() == another
    if another:
        assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        shutil.rmtree(tmp_path / "data")
    store.probe()
    assert store.problem is not None
    (tmp_path / "moved").rename(tmp_path / "data")
    store.probe()
    assert store.problem is None
    assert store.submissions.add_job(asked, 0.0)
    put(store, TENANT, b"afterwards")


def test_a_data_base_that_is_moved_alone_is_noticed(store: Store, tmp_path: Path) -> None:
    (tmp_path / "data" / "eddy.sqlite3").rename(tmp_path / "data" / "away")
    assert "eddy.sqlite3 was moved" in str(store.problem)


def test_a_folder_is_made_within_one_that_is_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(StorageFailed, match=r"There is no .*no folder to make it in"):
        make_folder(data / "blobs" / "incoming", data)
    assert not data.exists()
    data.mkdir()
    assert make_folder(data / "blobs" / "incoming", data).is_dir()
