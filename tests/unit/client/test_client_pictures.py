# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of jobs, slots and prices: well-formed, escaped, and saying in words what its colours say."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.api.answers.market import _NOW
from eddy.api.request_bodies import examples
from eddy.client import answers
from eddy.client.calls import pictures
from eddy.client.calls.job import show_progress
from eddy.client.calls.views import JobList, MarketView, Timeline

HOSTILE = "<script>alert(1)</script>&\"'"
VOID = {"line", "rect"}


class Checked(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Checked:
    parser = Checked()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert "script" not in parser.seen
    return parser


def test_a_job_says_where_its_time_went() -> None:
    shown = read(pictures.job(examples.JOB)).text
    assert "succeeded, 1 of 1 items" in shown
    assert "14.4 ms, 3 loads" in shown
    waited = {**examples.JOB, "waiting": {"slot": 0.25, "memory": 0.0, "preempted": 2.0}, "preemptions": 2}
    assert "250 ms for slot, 2.00 s for preempted" in read(pictures.job(waited)).text


def test_a_job_that_failed_says_why_whoever_wrote_it() -> None:
    failed = {**examples.JOB, "state": "failed", "error": {"cause": "hang", "message": HOSTILE}, "doing": HOSTILE}
    assert f"hang: {HOSTILE}" in read(pictures.job({**failed, "application": HOSTILE, "tenant": HOSTILE})).text
    assert HOSTILE in read(JobList([cast(answers.Job, {**failed, "application": HOSTILE})])._repr_html_()).text


def test_a_board_that_computes_nothing_is_called_so() -> None:
    assert "every output is zeros" in read(pictures.job({**examples.JOB, "computed": False})).text


def test_a_timeline_draws_each_span_where_it_was() -> None:
    overview = cast(answers.Overview, dict(examples.OVERVIEW))
    span = overview["spans"][0]
    overview["spans"] = [span, {**span, "kind": "item", "item": 3, "start_s": 0.0048, "end_s": 0.0096, "ok": False}]
    drawn = read(Timeline.of(overview)._repr_html_())
    assert drawn.seen.count("rect") == 2
    assert "item 3, 4.80 ms, ended in a fault" in drawn.text
    assert "nothing has run yet" in read(Timeline.of(overview, job=4)._repr_html_()).text


def test_a_market_shows_what_i_have_of_each_cluster() -> None:
    shown = read(MarketView(_NOW)._repr_html_()).text
    assert "1.5 of 4" in shown
    assert "promised 1.44" in shown
    assert "Epoch 17" in read(MarketView({**_NOW, "me": None})._repr_html_()).text


def test_progress_is_drawn_where_a_kernel_runs_and_said_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[str] = []
    handle = SimpleNamespace(update=lambda card: drawn.append(card._repr_html_()))
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    display = SimpleNamespace(display=lambda card, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with show_progress(examples.JOB) as tell:
        tell({**examples.JOB, "progress": {"done": 3, "total": 4}, "state": "running"})
    assert "running, 3 of 4 items" in drawn[0]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with show_progress(examples.JOB) as tell:
        tell(examples.JOB)
    assert capsys.readouterr() == ("", "")
    assert len(drawn) == 1
