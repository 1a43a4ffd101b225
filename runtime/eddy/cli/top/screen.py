"""The moving screen of `eddy top`, drawn by Textual; all that is on it comes from `frame`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from eddy.cli.top.frame import Line, Seen, frame
from eddy.cli.top.look import look
from eddy.core.errors import EddyError

if TYPE_CHECKING:
    from eddy.client import Client

STYLES = {"title": "bold", "head": "bold dim", "plain": "", "bad": "red", "chosen": "reverse"}
HELP = "up/down choose  enter show  c cancel  p price policy  q quit"


class Screen(App[None]):
    """The screen.

    Args:
        client: Asks the server.
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
        Binding("p", "price", "Price policy"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, client: Client, url: str, interval_s: float) -> None:
        super().__init__()
        self._client, self._url, self._interval_s = client, url, interval_s
        self._seen = Seen(url, None, problem="asking")
        self._chosen: int | None = None
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
        seen = look(self._client, self._url)
        self.call_from_thread(self._show, seen)

    def _show(self, seen: Seen) -> None:
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
                f"{line.text:<{self.size.width}}\n" if line.style == "chosen" else f"{line.text}\n", STYLES[line.style]
            )
        self.query_one("#frame", Static).update(text)
        self.query_one("#keys", Static).update(self._asked or self._said or HELP)

    def _jobs(self) -> list[int]:
        lines = frame(self._seen, self.size.width, max(self.size.height - 1, 3))
        return [line.job for line in lines if line.job is not None]

    def action_choose(self, by: int) -> None:
        """Choose the job above or below."""
        jobs = self._jobs()
        if jobs:
            place = jobs.index(self._chosen) + by if self._chosen in jobs else 0
            self._chosen = jobs[min(max(place, 0), len(jobs) - 1)]
        self._asked = ""
        self._draw()

    def action_details(self) -> None:
        """Show the chosen job, until Escape."""
        if self._chosen is not None and not self._details:
            self._fetch(self._chosen)

    @work(thread=True)
    def _fetch(self, job: int) -> None:
        from eddy.cli.jobs import lines_of

        try:
            lines = lines_of(self._client.show(job), {})
        except EddyError as error:
            self.call_from_thread(self._say, error.message)
            return
        self.call_from_thread(self._open, [*lines, "", "escape goes back"])

    def _open(self, lines: list[str]) -> None:
        self._details = lines
        self._draw()

    def action_close(self) -> None:
        """Back to the frame."""
        self._details, self._asked, self._said = [], "", ""
        self._draw()

    def action_cancel(self) -> None:
        """Cancel the chosen job; it takes a second press."""
        if self._chosen is None:
            return
        asked = f"cancel job {self._chosen}? press c again; escape keeps it"
        if self._asked != asked:
            self._asked = asked
            self._draw()
            return
        self._asked = ""
        self._cancel(self._chosen)

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
            policies = now["policies"]
            following = policies[(policies.index(now["policy"]) + 1) % len(policies)]
            self._client.set_price_policy(following)
            said = f"price policy: {following}"
        except EddyError as error:
            said = error.message
        self.call_from_thread(self._say, said)

    def _say(self, text: str) -> None:
        self._said = text
        self._draw()
