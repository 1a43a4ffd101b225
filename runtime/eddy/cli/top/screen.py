# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The moving screen of `eddy top`, drawn by Textual; all that is on it comes from `frame`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from eddy.cli.top.frame import Chosen, FrameData, Line, frame
from eddy.cli.top.server_poll import ServerPoll
from eddy.core.errors import EddyError
from eddy.core.names import fit_columns

if TYPE_CHECKING:
    from eddy.client import Client

STYLES = {"title": "bold", "head": "bold dim", "plain": "", "bad": "red", "chosen": "reverse"}
HELP = "up/down choose  enter show  c cancel  q quit  ? help"
HELP_OF_OPERATORS = "up/down choose  enter show  c cancel  d drain  s policy  p price  q quit  ? help"
KEYS = (
    ("up, down", "choose a slot or a job"),
    ("enter", "show the chosen job: its times by cause, why it failed"),
    ("c", "cancel the chosen job; a second press confirms"),
    ("d", "operators: drain the chosen slot (press twice), or bring it back"),
    ("s", "operators: the next dispatch policy; a second press confirms"),
    ("p", "operators: the next price policy"),
    ("?", "this page"),
    ("escape", "back; keeps what was asked about"),
    ("q", "quit"),
)
"""What each key does."""
COLUMNS_MEAN = (
    "Times are the board's. SINCE: how long a slot has done what it does.",
    "WAITING, RUNNING: what a job's life was spent on so far.",
    "RESPONSE: from arrival to end; <T says that it should end within T,",
    "as nine in ten such jobs do. PRICE: of a core. MY CORES: your share.",
)


class Screen(App[None]):
    """The screen.

    Args:
        url: Its address, to be shown.
        interval_s: Wall seconds between looks.
    """

    CSS = "Static { height: 1fr; } #keys { height: 1; dock: bottom; color: $text-muted; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("escape", "close", "Back"),
        Binding("up", "choose(-1)", "Up"),
        Binding("down", "choose(1)", "Down"),
        Binding("enter", "details", "Show"),
        Binding("c", "cancel", "Cancel"),
        Binding("d", "drain", "Drain a slot, or bring it back"),
        Binding("s", "switch", "Switch policy"),
        Binding("p", "price", "Price policy"),
        Binding("question_mark", "help", "Help"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, client: Client, url: str, interval_s: float) -> None:
        super().__init__()
        self._client, self._interval_s = client, interval_s
        self._poll = ServerPoll(client, url)
        self._seen = FrameData(url, None, problem="asking")
        self._chosen: Chosen | None = None
        self._said, self._asked = "", ""
        self._details: list[str] = []

    def compose(self) -> ComposeResult:
        """The frame, and one line below it."""
        yield Static(id="frame")
        yield Static(HELP, id="keys")

    def on_mount(self) -> None:
        """Look at once, and again and again."""
        self._ask()
        self.set_interval(self._interval_s, self._ask)

    def on_resize(self) -> None:
        """Fit the frame to the terminal."""
        self._draw()

    @work(thread=True, exclusive=True)
    def _ask(self) -> None:
        seen = self._poll.look()
        self.call_from_thread(self._show, seen)

    def _show(self, seen: FrameData) -> None:
        self._seen = seen
        self._draw()

    def _draw(self) -> None:
        if self._details:
            lines = [Line(text) for text in self._details]
        else:
            lines = frame(self._seen, self.size.width, max(self.size.height - 1, 3), self._chosen)
        text = Text(no_wrap=True)
        for line in lines:
            text.append(
                f"{fit_columns(line.text, self.size.width) if line.style == 'chosen' else line.text}\n",
                STYLES[line.style],
            )
        self.query_one("#frame", Static).update(text)
        self.query_one("#keys", Static).update(self._asked or self._said or self._keys())

    def _keys(self) -> str:
        """The keys of whoever looks."""
        return HELP_OF_OPERATORS if self._seen.overview and self._seen.overview["operator"] else HELP

    def action_choose(self, by: int) -> None:
        """Choose the slot or job above or below; the first job at first."""
        lines = frame(self._seen, self.size.width, max(self.size.height - 1, 3))
        there = [line.about for line in lines if line.about is not None]
        if self._chosen in there:
            self._chosen = there[min(max(there.index(self._chosen) + by, 0), len(there) - 1)]
        else:
            self._chosen = next((each for each in there if each[0] == "job"), there[0] if there else None)
        self._asked = ""
        self._draw()

    def action_details(self) -> None:
        """Show the chosen job, until Escape."""
        if self._job is not None and not self._details:
            self._fetch(self._job)

    @property
    def _job(self) -> int | None:
        return self._chosen[1] if self._chosen is not None and self._chosen[0] == "job" else None

    @work(thread=True)
    def _fetch(self, job: int) -> None:
        from eddy.cli.tenant.jobs import lines_of

        try:
            lines = lines_of(self._client.show(job), {})
        except EddyError as error:
            self.call_from_thread(self._say, error.message)
            return
        self.call_from_thread(self._open, [*lines, "", "escape goes back"])

    def _open(self, lines: list[str]) -> None:
        self._details = lines
        self._draw()

    def action_help(self) -> None:
        """What the keys do and the columns mean, until Escape."""
        keys = [f"{key:<10}{does}" for key, does in KEYS]
        self._open(["KEYS", *keys, "", "COLUMNS", *COLUMNS_MEAN, "", "escape goes back"])

    def action_close(self) -> None:
        """Back to the frame."""
        self._details, self._asked, self._said = [], "", ""
        self._draw()

    def action_cancel(self) -> None:
        """Cancel the chosen job; it takes a second press."""
        if self._job is not None and self._is_confirmed(f"cancel job {self._job}? press c again; escape keeps it"):
            self._cancel(self._job)

    def _is_confirmed(self, asked: str) -> bool:
        """Whether it was asked before this press."""
        before, self._asked = self._asked, asked
        if before == asked:
            self._asked = ""
        self._draw()
        return before == asked

    def action_drain(self) -> None:
        """Drain the chosen slot, which takes a second press, or bring it back (operators)."""
        slot = self._chosen[1] if self._chosen is not None and self._chosen[0] == "slot" else None
        shown = self._seen.overview["slots"] if self._seen.overview else []
        (known,) = [each for each in shown if each["slot"] == slot] or [None]
        if known is None:
            self._say("choose a slot with up and down first")
        elif known["drained"]:
            self._drain(known["slot"], False)
        elif self._is_confirmed(f"drain slot {slot}? press d again; escape keeps it"):
            self._drain(known["slot"], True)

    @work(thread=True)
    def _drain(self, slot: int, drained: bool) -> None:
        try:
            if drained:
                self._client.drain(slot, "drained in eddy top")
            else:
                self._client.undrain(slot)
            said = f"slot {slot}: {'nothing new is placed there' if drained else 'given to jobs again'}"
        except EddyError as error:
            said = error.message
        self.call_from_thread(self._say, said)
        self.call_from_thread(self._ask)

    def action_switch(self) -> None:
        """Put the next dispatch policy in force, which takes a second press (operators)."""
        if self._is_confirmed("put the next dispatch policy in force? press s again; escape keeps it"):
            self._next_policy()

    @work(thread=True)
    def _next_policy(self) -> None:
        try:
            now = self._client.policy_in_force()
            following = _next_name(now["policy"], now["allowed"])
            self._client.set_policy(following)
            said = f"policy: {following}"
        except EddyError as error:
            said = error.message
        self.call_from_thread(self._say, said)
        self.call_from_thread(self._ask)

    @work(thread=True)
    def _cancel(self, job: int) -> None:
        try:
            state = self._client.cancel(job)["state"]
            said = f"job {job}: {state}"
        except EddyError as error:
            said = error.message
        self.call_from_thread(self._say, said)

    def action_price(self) -> None:
        """Put the next price policy in force (operators)."""
        self._next_price()

    @work(thread=True)
    def _next_price(self) -> None:
        try:
            now = self._client.price_policy()
            following = _next_name(now["policy"], now["allowed"])
            self._client.set_price_policy(following)
            said = f"price policy: {following}"
        except EddyError as error:
            said = error.message
        self.call_from_thread(self._say, said)

    def _say(self, text: str) -> None:
        self._said = text
        self._draw()


def _next_name(name: str, allowed: Sequence[str]) -> str:
    """The next of the names; the first after the last, or where it is none of them."""
    place = allowed.index(name) + 1 if name in allowed else 0
    return allowed[place % len(allowed)]
