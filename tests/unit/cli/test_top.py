# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy top`: what a frame shows, that it fits, and what the keys do."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.api.request_bodies import examples
from eddy.cli.top.frame import COLUMNS, HISTORY_POINTS, LINES, FrameData, frame
from eddy.cli.top.screen import Screen
from eddy.cli.top.server_poll import ServerPoll
from eddy.core.errors import Conflict, NotFound

URL = "http://127.0.0.1:8000"
MARKET: dict[str, Any] = {
    "epoch": 3,
    "at_s": 0.1,
    "price_policy": "fisher",
    "clusters": [{"slot": 3, "module": "gpu_1c4w4t", "cores": 4, "price": 0.25}],
    "me": {"shares": [{"slot": 3, "pes": 1.5, "core_seconds": 0.0125}]},
}


def job(number: int, state: str = "queued", **fields: Any) -> dict[str, Any]:
    return {**examples.JOB, "id": number, "state": state, **fields}


def overview(jobs: int = 2, slots: int = 4, **fields: Any) -> dict[str, Any]:
    state = {**examples.OVERVIEW, "operator": True, "counts": {"queued": jobs}}
    state["slots"] = [{**examples.SLOT, "slot": number} for number in range(slots)]
    state["jobs"] = [job(number) for number in range(1, min(jobs, 40) + 1)]
    state["tenants"] = [{"tenant": f"tenant{number}", "jobs": {"queued": number}} for number in range(1, 8)]
    return {**state, **fields}


@pytest.mark.parametrize("jobs", [0, 1, 9, 40, 12_345])
@pytest.mark.parametrize("slots", [1, 4, 10])
@pytest.mark.parametrize("market", [None, MARKET])
def test_a_frame_fits_the_smallest_terminal(jobs: int, slots: int, market: Any) -> None:
    lines = frame(FrameData(URL, overview(jobs, slots, ended=[job(99_999, "succeeded")]), market))
    assert len(lines) <= LINES
    assert max(len(line.text) for line in lines) <= COLUMNS
    shown = [line.job for line in lines if line.job is not None]
    assert len(shown) == len(set(shown))
    if jobs == 12_345:
        assert f"and {jobs - len(shown)} more under way" in lines[-1].text
    if jobs in (0, 1) and slots == 1:
        assert 99_999 in shown
    heads = [line.text.split()[0] for line in lines if line.style == "head"]
    assert heads == ["SLOT", *(["SLOT"] if market else []), "TENANTS", "JOB"]


def point(minute: int, busy: float, waiting: float, slots: int = 4) -> dict[str, Any]:
    return {**examples.HISTORY["points"][0], "unix_s": 60 * minute, "busy": busy, "waiting": waiting, "slots": slots}


def test_the_last_hours_are_a_line_each_for_slots_and_queue() -> None:
    points = [point(minute, min(minute / 60, 4.0), float(minute % 240)) for minute in range(0, 361, 9) if minute < 300]
    points.append(point(360, 2.0, 3.0))
    lines = frame(FrameData(URL, overview(9), None, history=points))
    slots, queue = lines[2].text, lines[3].text
    assert (slots[:6], queue[:6]) == ("slots ", "queue ")
    drawn = slots[6 : 6 + HISTORY_POINTS]
    assert drawn[0] == "▁"
    assert drawn[31] == "█"
    assert drawn[36] == " ", "nothing is drawn where no server ran"
    assert drawn[-1] == "▅"
    assert slots.endswith("50 % in use, over 6.0 h")
    assert queue.endswith("  3 wait, 234 at most")
    assert max(len(line.text) for line in lines) <= COLUMNS
    assert len(lines) <= LINES
    idle = frame(FrameData(URL, overview(0), None, history=[point(0, 0.0, 0.0), point(1, 0.0, 0.0, slots=0)]))
    assert "0 % in use" in idle[2].text
    for few in ([], points[:1]):
        assert not any("in use" in line.text for line in frame(FrameData(URL, overview(9), None, history=few)))


def test_history_is_asked_for_twice_a_minute_and_of_servers_that_tell_it() -> None:
    class Answers:
        def __init__(self, **state: Any) -> None:
            self.state, self.asked = overview(0, **state), 0

        def overview(self) -> Any:
            return self.state

        def market(self) -> Any:
            raise NotFound("none")

        def board_history(self, hours: float, points: int) -> list[Any]:
            self.asked += 1
            return [point(0, 1.0, 0.0), point(1, 1.0, 0.0)]

    times = iter((0.0, 1.0, 29.0, 30.0, 31.0))
    server = Answers()
    poll = ServerPoll(server, URL, lambda: next(times))  # type: ignore[arg-type]
    for _ in range(5):
        assert len(poll.look().history) == 2
    assert server.asked == 2
    states: tuple[dict[str, Any], ...] = ({"operator": False}, {"boards": []})
    for state in states:
        other = Answers(**state)
        assert not ServerPoll(other, URL).look().history  # type: ignore[arg-type]
        assert other.asked == 0


def test_sessions_that_do_most_are_shown_and_the_others_counted() -> None:
    sessions = [
        {**examples.SESSION, "session": f"s{n:017}", "launches": 10 * n, "running": int(n == 2), "queued": 0}
        for n in range(1, 7)
    ]
    lines = [line.text for line in frame(FrameData(URL, overview(0, 1, sessions=sessions)))]
    at = next(n for n, line in enumerate(lines) if line.startswith("SESSION"))
    shown = [line.split()[0] for line in lines[at + 1 : at + 5]]
    assert shown == [f"s{n:017}" for n in (2, 6, 5, 4)]
    assert lines[at + 1].split()[1:] == ["ada", "resident", "32M", "3", "0", "20", "4.2"]
    assert "and 2 more sessions" in lines
    assert max(map(len, lines)) <= COLUMNS


def test_a_frame_shows_what_the_server_said() -> None:
    failed = job(7, "failed", error={"cause": "time-limit", "message": "It took too long."})
    faulted = {**examples.SLOT, "phase": "faulted", "module": None}
    state = {**overview(0, ended=[failed]), "slots": [faulted]}
    text = {line.text: line.style for line in frame(FrameData(URL, state, MARKET))}
    rows = "\n".join(text)
    for wanted in (
        "ada (operator)",
        "policy eddy",
        "gpu_1c4w4t",
        "0.25",
        "1.5",
        "0.0125",
        "tenant7 7  tenant6 6",
        "tenant3 3  and 2 more",
    ):
        assert wanted in rows, wanted
    assert rows.splitlines()[0].endswith("board time 14.9 ms")
    assert next(line for line in text if line.strip().startswith("7 ")).endswith("15.3 ms")
    assert [style for line, style in text.items() if "faulted" in line or line.strip().startswith("7 ")] == ["bad"] * 2
    leased = {**examples.SLOT, "phase": "empty", "leased": True}
    assert "leased" in "".join(line.text for line in frame(FrameData(URL, {**state, "slots": [leased]})))
    away = frame(FrameData(URL, overview(ready=False, detail="boardd does not answer")))
    assert away[1].text == "not ready: boardd does not answer"
    assert "no answer: refused" in frame(FrameData(URL, None, problem="refused"))[1].text
    assert [line.style for line in frame(FrameData(URL, overview(2)), chosen=("job", 2)) if line.job == 2] == ["chosen"]


def test_a_cluster_whose_slot_was_closed_is_not_listed() -> None:
    state = overview(0)
    state["slots"][3]["module"] = "gpu_1c4w4t"
    assert "gpu_1c4w4t  " in "\n".join(
        line.text for line in frame(FrameData(URL, state, MARKET)) if "0.25" in line.text
    )
    state["slots"][3] |= {"module": None, "phase": "empty"}
    assert not any("CLUSTER" in line.text or "0.25" in line.text for line in frame(FrameData(URL, state, MARKET)))


def test_names_are_whole_where_they_fit_and_show_that_they_were_cut() -> None:
    name = "image_compression"
    long = job(123_456_789_012, "running", application=name, tenant="operator")
    slot = {**examples.SLOT, "slot": 0, "module": name, "tenant": "operator", "job": long["id"]}
    state = {**overview(0), "jobs": [long], "ended": [], "slots": [slot], "counts": {"running": 1}}
    rows = [line.text for line in frame(FrameData(URL, state))]
    assert sum(name in row for row in rows) == 2
    slot["module"] = long["application"] = "a" * 60
    narrow, wide = ([line.text for line in frame(FrameData(URL, state), width)] for width in (COLUMNS, 160))
    assert max(map(len, narrow)) <= COLUMNS
    assert sum("a…" in row for row in narrow) == 2
    assert sum("a" * 60 in row for row in wide) == 2


class FakeClient:
    """A server that says what a test wants."""

    def __init__(self) -> None:
        self.state = overview(3)
        self.cancelled: list[int] = []
        self.policy = "fisher"
        self.dispatch = "fcfs"

    def overview(self) -> dict[str, Any]:
        return self.state

    def board_history(self, hours: float, points: int) -> list[dict[str, Any]]:
        return [point(0, 1.0, 0.0), point(1, 2.0, 4.0)]

    def market(self) -> dict[str, Any]:
        raise NotFound("no clusters", field="market")

    def show(self, number: int) -> dict[str, Any]:
        return job(number, error=None)

    def cancel(self, number: int) -> dict[str, Any]:
        if number == 3:
            raise Conflict("job 3 has ended already", job=3)
        self.cancelled.append(number)
        return job(number, "cancelled")

    def drain(self, slot: int, because: str) -> dict[str, Any]:
        self.state["slots"][slot]["drained"] = True
        return {}

    def undrain(self, slot: int) -> dict[str, Any]:
        self.state["slots"][slot]["drained"] = False
        return {}

    def policy_in_force(self) -> dict[str, Any]:
        return {"policy": self.dispatch, "allowed": ["eddy", "fcfs"]}

    def set_policy(self, policy: str) -> dict[str, Any]:
        self.dispatch = policy
        return {}

    def price_policy(self) -> dict[str, Any]:
        return {"policy": self.policy, "allowed": ["fisher", "themis"]}

    def set_price_policy(self, policy: str) -> dict[str, Any]:
        self.policy = policy
        return {}


def seen_on(screen: Screen, part: str) -> str:
    return str(screen.query_one(part).render())


async def settled(screen: Screen, pilot: Any) -> None:
    """Also what a worker asked for when it was done."""
    for _ in range(2):
        await screen.workers.wait_for_complete()
        await pilot.pause()


@pytest.mark.anyio
async def test_the_keys_of_the_screen() -> None:
    client: Any = FakeClient()
    screen = Screen(client, URL, 60.0)
    async with screen.run_test(size=(COLUMNS, LINES)) as pilot:
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert "3 jobs under way" in seen_on(screen, "#frame")
        await pilot.press("down", "down")
        await pilot.press("c")
        assert "cancel job 2?" in seen_on(screen, "#keys")
        assert client.cancelled == []
        await pilot.press("escape", "c", "down", "up", "c")
        assert client.cancelled == []
        await pilot.press("c")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert client.cancelled == [2]
        assert "job 2: cancelled" in seen_on(screen, "#keys")
        await pilot.press("enter")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert "escape goes back" in seen_on(screen, "#frame")
        await pilot.press("escape", "down", "c", "c", "p")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert client.policy == "themis"
        await pilot.press(*["up"] * 3, "d")
        assert "drain slot 3?" in seen_on(screen, "#keys")
        assert not client.state["slots"][3]["drained"]
        await pilot.press("d")
        await settled(screen, pilot)
        assert client.state["slots"][3]["drained"]
        assert "draining" in seen_on(screen, "#frame")
        await pilot.press("d")
        await settled(screen, pilot)
        assert not client.state["slots"][3]["drained"]
        await pilot.press("s", "s")
        await settled(screen, pilot)
        assert client.dispatch == "eddy"
        assert "policy: eddy" in seen_on(screen, "#keys")
        await pilot.press("question_mark")
        page = seen_on(screen, "#frame")
        assert all(f"{key:<10}" in page for key in ("enter", "c", "d", "s", "p", "q"))
        assert max(map(len, page.splitlines())) <= COLUMNS
        assert len(page.splitlines()) < LINES
        await pilot.press("escape")
        assert "3 jobs under way" in seen_on(screen, "#frame")
        assert "d drain" in seen_on(screen, "#keys")
        client.state["operator"] = False
        await pilot.press("c", "c")  # cancels, and looks again
        await settled(screen, pilot)
        await pilot.press("escape")
        assert "c cancel" in seen_on(screen, "#keys")
        assert "drain" not in seen_on(screen, "#keys")
        await pilot.press("q")
    assert screen.return_code == 0
