# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board may do on the pool's servers, tried against a real one: its own, nothing else, until revoked."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.core.errors import Conflict, EddyError, InvalidRequest, NotFound, StorageDamaged, StorageInUse
from eddy.pool.connection.connection import connected
from eddy.pool.connection.credentials import PoolAccess, PoolUnreachable, UserKey
from eddy.pool.connection.streams import WORK
from eddy.pool.connection.transfer import Address, FetchedBlob, TransferSecret, received
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.boards import forget_board
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import open_pool
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import JobFenced, PoolBoard
from eddy.pool.servers.admission import PoolAdmission
from eddy.pool.servers.nats_server import NatsServer
from pool_boards import DATA, SHA, Boards, fetched, unhurried, with_boards
from pool_kit import WAIT_S


def test_a_board_may_say_nothing_but_its_own(tmp_path: Path) -> None:
    """Each subject is tried with b2's own key; the server says that it is not allowed."""
    forbidden = (
        "eddy.gate.b1", "$KV.eddy_leases.b1", "$KV.eddy_leader.head", "$KV.eddy_jobs.1", "$KV.eddy_keys.x",
        "eddy.work.b2", "eddy.events.ada.1", "$KV.eddy_bytes.ada.x",
        "$JS.API.INFO",
        "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.KV_eddy_jobs",
        "$JS.API.STREAM.MSG.GET.KV_eddy_jobs",
        "$JS.API.DIRECT.GET.KV_eddy_jobs", "$JS.API.DIRECT.GET.KV_eddy_jobs.$KV.eddy_jobs.1",
        "$JS.API.STREAM.DELETE.KV_eddy_jobs", "$JS.API.STREAM.PURGE.KV_eddy_bytes", "$JS.API.STREAM.CREATE.X",
        "$JS.API.CONSUMER.CREATE.KV_eddy_jobs.x", "$JS.API.CONSUMER.DURABLE.CREATE.EDDY_WORK.x",
        "$JS.API.CONSUMER.LIST.KV_eddy_bytes", "$JS.API.CONSUMER.NAMES.KV_eddy_bytes",
        "$JS.API.CONSUMER.MSG.NEXT.EDDY_WORK.board-b1", "$JS.ACK.EDDY_WORK.board-b1.1.1.1.1.1", "_INBOX.b1.x",
    )  # fmt: skip
    heard = ("eddy.gate.b2", "eddy.work.>", "eddy.events.>", "$KV.>", "$O.>", "_INBOX.>", "_INBOX.b1.>", ">")

    async def check(boards: Boards) -> None:
        said: asyncio.Queue[str] = asyncio.Queue()

        async def error(failure: Exception) -> None:
            said.put_nowait(str(failure))

        async with boards.board("b2") as (nats, _):
            nats._error_cb = error
            for subject in forbidden:
                await nats.publish(subject, b"")
                await nats.flush()
                assert f'to "{subject.lower()}"' in (await asyncio.wait_for(said.get(), WAIT_S)).lower()
            for subject in heard:
                await nats.subscribe(subject)
                await nats.flush()
                assert f'to "{subject.lower()}"' in (await asyncio.wait_for(said.get(), WAIT_S)).lower()

    with_boards(tmp_path, check)


ME = {
    **dict.fromkeys(("modelled_speedup", "delivered_over_promised", "measured_speedup", "memory_share"), None),
    **dict.fromkeys(("predicted_progress", "promised_progress", "parallel_fraction"), None),
    **{"weight": 1.0, "entitlement": 1.0, "promised_speedup": 1.0, "parallel_fraction_from": "assumed"},
    "shares": [
        {"slot": 0, "pes": 1.0, "core_seconds": 0.0, "bid": 1.0, "parallel_fraction": 0.8, "throughput": 1.0,
         "assumed": True}
    ],
}  # fmt: skip


def test_a_report_counts_for_tenants_that_have_a_job_on_that_board(tmp_path: Path) -> None:
    """Whatever b2 says of itself, of b1 or of tenants it has no job of; what cannot be read is left out."""

    def said(name: str, *tenants: str) -> PoolBoard:
        market = {
            **{"epoch": 1, "at_s": 0.0, "price_policy": "market", "own": 0.0},
            "clusters": [{"slot": 0, "module": "gpu", "cores": 4, "price": 0.25}],
            "tenants": {each: {"me": ME, "had": 1.0, "promised": 1.0} for each in tenants},
        }
        return PoolBoard(name, "k", 1, 1, ("a",), False, "s", market=market)

    async def check(boards: Boards) -> None:
        async with boards.board("b1") as (_, mine), boards.board("b2") as (other_nats, other):
            await mine.renew(said("b1", "ada", "grace"))
            await other.renew(said("b1", "ada", "grace"))
            deadline = asyncio.get_running_loop().time() + WAIT_S
            while not (found := await mine.weights()):
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.1)
            assert found == {"ada": pytest.approx(1.0)}, "all of its weight, as it has a job here alone"
            assert await other.weights() == {}
            wrong = said("b2", "ada")
            for data in (b"{", b"[]", b"1", to_json(dataclasses.replace(wrong, market={"tenants": 3}))):
                await other_nats.publish("$KV.eddy_leases.b2", data)
            await mine.renew(said("b1", "grace"))
            while await mine.weights():
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.1)

    with_boards(tmp_path, check)


KERNEL: dict[str, Any] = {
    **{"name": "k", "cluster": "m", "groups": 1, "slice_groups": 1, "outputs": {}, "counters": None, "log_bytes": 0},
    **{"parallel_fraction": None, "core_seconds": 0.0, "paid": 0.0},
}


def test_heads_tell_a_board_of_its_own_jobs_alone(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        job = boards.job
        facts = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
        async with boards.board("b1") as (_, mine), boards.board("b2") as (_, other):
            joined = await other.join(facts)
            assert joined.name == "b2", "whatever it calls itself"
            assert (await mine.join(facts)).drained == ""
            await mine.renew(facts)
            assert (await mine.placed_jobs(), await other.placed_jobs()) == ([job.id], [])
            assert (await mine.fetch(job, SHA)).data == DATA
            unnamed = hashlib.sha256(b"of another job").hexdigest()
            with pytest.raises(JobFenced):
                await mine.fetch(job, unnamed)
            part = {"first": 0, "items": 1, "outputs": {}}
            for refused in (
                other.job(job.id), other.fetch(job, SHA), other.report_started(job), other.put(job, b"x"),
                other.report_part(job, part, 1.0, None), other.failed(job, {"code": "x"}),
                other.report_transfer(job, FetchedBlob(b"x", 1.0)),
            ):  # fmt: skip
                with pytest.raises(JobFenced):
                    await refused
            assert (await mine.report_started(job)).state == "running"
            name = await mine.put(job, DATA[::-1])
            assert await fetched(PoolBlobs(boards.link), "ada", name) == DATA[::-1]
            part["outputs"] = {"y": name}
            once = await mine.report_part(job, part, 2.0, None)
            again = await mine.report_part(job, part, 3.0, KERNEL)
            assert once == again, "an answer that was lost is given again, and nothing else is said by that"
            about = {"job": job.id, "token": job.token}
            assert [await mine._ask("has", **about, sha256=sha) for sha in (SHA, name, unnamed)] == [True, True, False]
            (kept,) = once.parts
            assert kept.ended_unix_s - kept.started_unix_s == pytest.approx(2.0, abs=0.01)
            with pytest.raises(JobFenced):
                await mine.report_part(dataclasses.replace(job, token=job.token + 1), {**part, "first": 1}, 1.0, None)

    with_boards(tmp_path, check)


def test_an_address_is_good_once_for_the_board_that_asked_and_as_long_as_the_job_is_there(tmp_path: Path) -> None:
    """Whoever learns of it has nothing: not another board, nor who has the digest that was told with the question."""

    async def check(boards: Boards) -> None:
        job, proof, table = boards.job, TransferSecret(), PoolJobs(boards.link)
        about = {"job": job.id, "token": job.token, "sha256": SHA}

        async def got(address: Address, headers: dict[str, str], method: str = "GET") -> int:
            async with boards.http() as http:
                return (await http.request(method, address.url, headers=headers, content=b"x")).status_code

        async with boards.board("b1") as (_, mine), boards.board("b2") as (_, other):
            for what in ("blob", "output"):
                with pytest.raises(JobFenced):
                    await other._ask(what, **about, bytes=1, proof=proof.digest)
            address = Address(**await mine._ask("blob", **about, proof=proof.digest))
            stolen: tuple[dict[str, str], ...] = (
                {},
                TransferSecret().headers,
                {"Authorization": f"Bearer {proof.digest}"},
            )
            for headers in stolen:
                assert await got(address, headers) == 404
            assert await got(address, proof.headers, "PUT") == 404, "it is to be fetched from"
            for wrong in ("x", proof.digest[1:], f"{proof.digest}0", None, 3):
                with pytest.raises(EddyError):
                    await mine._ask("blob", **about, proof=wrong)
            assert (await received(mine._http, address, proof, SHA)).data == DATA
            assert await got(address, proof.headers) == 404, "once"
            name = hashlib.sha256(b"x").hexdigest()
            output = Address(**await mine._ask("output", **{**about, "sha256": name}, bytes=1, proof=proof.digest))
            assert await got(output, TransferSecret().headers, "PUT") == 404
            assert await got(output, proof.headers) == 404, "it is to be sent to"
            assert await got(output, proof.headers, "PUT") == 204
            assert await fetched(PoolBlobs(boards.link), "ada", name) == b"x"
            with patch("eddy.pool.routes.open_transfers.GOOD_S", -1.0):
                late = Address(**await mine._ask("blob", **about, proof=proof.digest))
            assert await got(late, proof.headers) == 404, "it was good for a while"
            late = Address(**await mine._ask("blob", **about, proof=proof.digest))
            await table.change(job.id, lambda it: it.recall("gone", 0.0))
            await table.change(job.id, lambda it: it.place_on("b2", 0.0, {}))
            assert await got(late, proof.headers) == 404, "the job is on another board"

    with_boards(tmp_path, check)


def test_a_revoked_key_is_worth_nothing(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        stolen = PoolAccess.named(str(boards.server.admission.board_file("b1")))
        cut = asyncio.Event()

        async def gone() -> None:
            cut.set()

        async with boards.board("b1") as (one, _), boards.board("b2") as (two, other):
            one._disconnected_cb = gone
            boards.server.admission.revoke("b1")
            await asyncio.wait_for(cut.wait(), WAIT_S)
            deadline, said = asyncio.get_running_loop().time() + WAIT_S, ""
            while "does not let this key in" not in said:  # a slow server may not answer at all within the patience
                assert asyncio.get_running_loop().time() < deadline, said
                with pytest.raises(PoolUnreachable) as refused:
                    async with connected(stolen, "b1", patience_s=3.0):
                        pass
                said = refused.value.message
            assert await other.placed_jobs() == []
            assert two.stats["reconnects"] == 0, "others notice nothing"
        boards.server.admission.revoke("b1")  # again changes nothing
        with pytest.raises(NotFound):
            boards.server.admission.revoke("b3")
        boards.server.admission.admit("b1")
        async with boards.board("b1") as (_, again):
            assert await again.placed_jobs() == [boards.job.id]

    with_boards(tmp_path, check)


def test_a_server_that_does_not_read_who_is_let_in_is_said_and_the_next_reading_counts(tmp_path: Path) -> None:
    """A board that one reading alone let in has no services of the pool's, and would ask heads in vain for ever."""

    async def check(boards: Boards) -> None:
        admission, process = boards.server.admission, boards.server.process
        process.send_signal(signal.SIGSTOP)
        try:
            with (
                patch("eddy.pool.servers.admission.READ_AGAIN_S", 0.2),
                pytest.raises(PoolUnreachable, match="not read"),
            ):
                admission.admit("b3")
        finally:
            process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(admission.admit, "b4")
        for name in ("b3", "b4"):
            async with boards.board(name) as (_, board):
                assert await board.placed_jobs() == []

    with_boards(tmp_path, check)


def test_of_a_board_that_is_forgotten_nothing_is_left_and_it_may_join_again(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        link, facts = boards.link, PoolBoard("b2", "k", 1, 1, ("a",), False, "s")
        seen = boards.lead.mirror.boards

        async def until(there: bool) -> None:
            deadline = asyncio.get_running_loop().time() + WAIT_S
            while ("b2" in seen) != there:
                assert asyncio.get_running_loop().time() < deadline, seen
                await asyncio.sleep(0.05)

        async with boards.board("b2") as (_, board):
            await board.join(facts)
            await until(there=True)
            await link.js.publish("eddy.work.b2", b"1")
            await link.js.publish("eddy.work.b1", b"1")
            await forget_board(link, "b2")
            await until(there=False)
            state = (await link.js.stream_info(WORK)).state
            assert (state.messages, state.consumer_count) == (1, 0), "that of b1, which has not joined"
            with pytest.raises(NotFound):
                await forget_board(link, "b2")
            assert (await board.join(facts)).name == "b2"
            await until(there=True)

    with_boards(tmp_path, check)


def test_boards_that_are_let_in_at_once_all_are(tmp_path: Path) -> None:
    """Each read who is let in, and wrote that with one more: of 80 files 51 were good."""
    names, admission = [f"b{n}" for n in range(16)], PoolAdmission(tmp_path)
    with ThreadPoolExecutor(len(names)) as threads:
        files = [*threads.map(lambda name: PoolAdmission(tmp_path).admit(name), names)]
    assert admission.boards == sorted(names)
    assert all(file.exists() for file in files)
    with ThreadPoolExecutor(len(names)) as threads:
        [*threads.map(admission.revoke, names)]
    assert admission.boards == []


def test_nobody_gets_in_without_key_and_certificate(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        good = PoolAccess.named(str(boards.server.admission.board_file("b1")))
        other = PoolAdmission(tmp_path / "other")

        async def kept_out(access: PoolAccess) -> None:
            with pytest.raises(PoolUnreachable):
                async with connected(access, "b1", patience_s=2.0):
                    pass

        await asyncio.gather(
            kept_out(dataclasses.replace(good, seed="")),
            kept_out(dataclasses.replace(good, seed=UserKey().seed)),
            kept_out(dataclasses.replace(good, certificate=json.loads(other.head_file.read_text())["certificate"])),
            kept_out(dataclasses.replace(good, certificate="")),
        )
        async with connected(good, "b1", WAIT_S):
            pass

    with_boards(tmp_path, check)


def test_the_date_of_a_board_matters_to_no_connection(tmp_path: Path) -> None:
    """Boards without a clock battery have any. The certificate is the one that was copied to the board."""

    async def check(file: Path) -> None:
        async with connected(PoolAccess.named(str(file)), "head", WAIT_S):
            pass

    with patch("eddy.pool.servers.certificate.CERTIFICATE_DAYS", -1), NatsServer(tmp_path).running() as server:
        asyncio.run(check(server.admission.head_file))


WRONG = {
    "": b"", "no JSON": bytes(range(256)), "no object": b"[]", "too deep": b"[" * 200_000,
    "urls": ("tls://", "tls://x:y", "http://h:1", "tls://h:99999999", "tls://[::1", "tls://h:1,,", 3, None),
    "name": (3, "a b", "a.b\r\nPUB x"), "seed": (3, None, "x", "SU\u00e9"), "more": (1,),
    "certificate": ("x", 3, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
}  # fmt: skip


def test_a_damaged_file_of_a_pool_is_said_to_be_one(tmp_path: Path) -> None:
    """It is copied by hand. An agent tries again, as the file may be copied once more."""
    admission = PoolAdmission(tmp_path)
    good = json.loads(admission.head_file.read_text()) | {"urls": "tls://127.0.0.1:1"}
    file = tmp_path / "copied"
    file.write_text(json.dumps(good))
    assert PoolAccess.named(str(file)).urls == good["urls"]
    for field, wrong in WRONG.items():
        for each in [wrong] if isinstance(wrong, bytes) else [json.dumps({**good, field: it}).encode() for it in wrong]:
            file.write_bytes(each)
            with pytest.raises(PoolUnreachable):
                PoolAccess.named(str(file))
    with pytest.raises(PoolUnreachable, match="has been started"):
        asyncio.run(connected(PoolAccess(""), "b1").__aenter__())
    with pytest.raises(PoolUnreachable, match="'h:x'"):
        PoolAccess.named("tls://somebody:secret@h:x")
    for wrong in (b"", b"[]", b"{}", b'{"head": "x", "boards": 3, "places": []}', b"[" * 200_000):
        (tmp_path / "users.json").write_bytes(wrong)
        with pytest.raises(StorageDamaged, match="restore it"):
            admission.admit("b1")


def test_keys_are_written_as_nats_writes_them(tmp_path: Path) -> None:
    """That NATS reads them so, the tests above show; a damaged seed is told from a whole one."""
    key = UserKey()
    assert UserKey.from_seed(key.seed).public == key.public
    assert (key.seed[:2], len(key.seed), key.public[0], len(key.public)) == ("SU", 58, "U", 56)
    for damaged in (key.seed[:-1] + ("A" if key.seed[-1] != "A" else "B"), key.public, "x", ""):
        with pytest.raises(PoolUnreachable, match="admitted again"):
            UserKey.from_seed(damaged)
    admission = PoolAdmission(tmp_path / "pool")
    file = admission.admit("b1")
    assert (file.stat().st_mode & 0o777, admission.head_file.stat().st_mode & 0o777) == (0o600, 0o600)
    with pytest.raises(Conflict, match="already"):
        admission.admit("b1")
    for name in ("", "a.b", "*", ">", "a b"):
        with pytest.raises(InvalidRequest):
            admission.admit(name)
    with pytest.raises(PoolUnreachable, match="no file"):
        PoolAccess.named(str(tmp_path / "nothing"))
    assert PoolAccess.named("nats://a,nats://b").seed == ""


def test_what_a_server_without_accounts_kept_is_there(tmp_path: Path) -> None:
    """A pool of a release before boards had accounts: the servers kept it in the account that everybody was in."""

    async def stored(server: NatsServer) -> None:
        async with open_pool(str(server.admission.head_file), "head", WAIT_S) as link:
            await PoolBlobs(link).put("ada", DATA)

    async def kept(server: NatsServer) -> bytes:
        async with open_pool(str(server.admission.head_file), "head", WAIT_S) as link:
            return await fetched(PoolBlobs(link), "ada", SHA)

    with unhurried(), NatsServer(tmp_path).running() as server:
        asyncio.run(stored(server))
    store = tmp_path / "jetstream" / "jetstream"
    (store / "eddy").rename(store / "$G")
    with unhurried(), NatsServer(tmp_path).running() as server:
        assert asyncio.run(kept(server)) == DATA


def test_one_server_runs_over_a_folder_and_no_other_is_taken_for_it(tmp_path: Path) -> None:
    """What is refused changes nothing of the server that runs: neither its configuration nor where boards find it."""
    with NatsServer(tmp_path / "one").running() as server:
        kept = {
            path.name: path.read_bytes() for path in (tmp_path / "one").iterdir() if path.suffix in (".conf", ".json")
        }
        with pytest.raises(StorageInUse, match="pool's folder"):
            NatsServer(tmp_path / "one", port=server.port + 1)
        assert {name: (tmp_path / "one" / name).read_bytes() for name in kept} == kept
        other = NatsServer(tmp_path / "other", port=server.port)
        with pytest.raises(Conflict, match="cannot listen"):
            other.start()
        server.admission.admit("b1")
        with pytest.raises(Conflict, match="already"):
            server.admission.admit("b1")
    with NatsServer(tmp_path / "one").running():
        pass
