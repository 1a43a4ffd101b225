# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Notices by e-mail, handed to a real mail server: with STARTTLS and a login, and refused where it must be."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from api.operators.test_notices import Outbox, end_job, log_of, subscribe
from certificate_kit import make_certificate
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.notices import Delivery, NoticeKind
from eddy.notices.mail import MailServer, compose, send
from eddy.notices.settings import NoticeSettings
from eddy.notices.targets import TargetRules

pytestmark = pytest.mark.anyio


class Mailbox:
    """What the mail server took."""

    def __init__(self) -> None:
        self.taken: list[Envelope] = []
        self.users: list[str] = []
        self.refused = ""

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        self.taken.append(envelope)
        return "250 taken"

    async def handle_RCPT(
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refused:
            return "550 nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    def login(self, server: Any, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        good = isinstance(data, LoginPassword) and data == LoginPassword(b"eddy", b"s3cret")
        self.users.append(data.login.decode())
        return AuthResult(success=good, handled=False)


class MailServers:
    """A server with STARTTLS that asks for a login, and a plain one."""

    def __init__(self, folder: Path) -> None:
        self.box = Mailbox()
        files = make_certificate(folder)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(files.certificate, files.key)
        self.secure = Controller(
            self.box,
            hostname="localhost",
            port=0,
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=self.box.login,
        )
        self.plain = Controller(self.box, hostname="localhost", port=0)
        self.certificate = files.certificate
        (folder / "password").write_text("s3cret\n")
        self.password = folder / "password"


@pytest.fixture
def mails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServers]:
    made = MailServers(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.certificate))
    for each in (made.secure, made.plain):
        _start(each)
    yield made
    for each in (made.secure, made.plain):
        each.stop()


def _start(controller: Controller) -> None:
    """On a port that the system chose."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        controller.hostname, controller.port = "127.0.0.1", free.getsockname()[1]
    controller.start()


def secure(mails: MailServers, password: Path | None = None) -> MailServer:
    file = str(password or mails.password)
    return MailServer("localhost", mails.secure.port, "starttls", "eddy", file, "eddy@lab.example")


async def test_the_end_of_a_job_comes_as_a_mail_over_tls(start: Any, mails: MailServers) -> None:
    settings = NoticeSettings(TargetRules.parse("none", "lab.example"), secure(mails))
    server = start(notices=settings)
    made = await subscribe(server, "mailto:ada@lab.example")
    assert made["secret"] == ""
    job = await end_job(server, state=JobState.FAILED, cause="time-limit")
    await Outbox(server).look()
    (envelope,) = mails.box.taken
    assert (envelope.mail_from, envelope.rcpt_tos, mails.box.users) == (
        "eddy@lab.example",
        ["ada@lab.example"],
        ["eddy"],
    )
    assert isinstance(envelope.content, bytes)
    mail = message_from_bytes(envelope.content, policy=policy.default)
    assert mail["subject"] == f"[Eddy] job {job} failed: time-limit"
    (entry,) = await log_of(server, made["id"])
    assert (entry["state"], mail["message-id"], mail["auto-submitted"]) == (
        "delivered", f"<{entry['id']}@lab.example>", "auto-generated"
    )  # fmt: skip
    assert f"eddy notify remove {made['id']}" in mail.get_content()


async def test_a_refused_address_is_logged_and_tried_again(start: Any, mails: MailServers) -> None:
    plain = MailServer("localhost", mails.plain.port, "none", sender="eddy@lab.example")
    server = start(notices=NoticeSettings(TargetRules.parse("none", "lab.example"), plain))
    made = await subscribe(server, "mailto:ada@lab.example")
    mails.box.refused = "ada@lab.example"
    await end_job(server)
    await Outbox(server).look()
    (entry,) = await log_of(server, made["id"])
    assert (entry["state"], entry["status"]) == ("waiting", 550)
    assert entry["said"] == "the mail server refused the address (550)"


async def test_tenants_name_domains_the_operator_allows_and_operators_any(start: Any, mails: MailServers) -> None:
    server = start(notices=NoticeSettings(TargetRules.parse("none", "lab.example"), secure(mails)))
    async with server.client() as client:
        body = {"target": "mailto:someone@elsewhere.example", "kinds": ["job.ended"]}
        answer = await client.post("/v1/subscriptions", json=body)
        assert (answer.status_code, answer.json()["allowed"]) == (422, ["lab.example"])
    await subscribe(server, "mailto:someone@elsewhere.example", "operator")


def test_a_wrong_password_a_wrong_certificate_and_no_server_say_so(
    mails: MailServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = Delivery("msg_1", "n1", "ada", NoticeKind.TEST, '{"type": "test", "data": {}}', 0.0)
    mail = compose(delivery, "eddy@lab.example", "ada@lab.example", "Eddy")
    (tmp_path / "wrong").write_text("guess")
    wrong = send(secure(mails, tmp_path / "wrong"), mail)
    assert (wrong.delivered, wrong.status, wrong.said) == (False, 535, "the mail server answered 535")
    monkeypatch.delenv("SSL_CERT_FILE")
    unknown = send(secure(mails), mail)
    assert (unknown.delivered, unknown.said.partition(":")[0]) == (False, "TLS failed")
    away = send(MailServer("localhost", 1, "none", sender="eddy@lab.example"), mail)
    assert away.said.startswith("the mail server cannot be used")
    assert mails.box.taken == []


def test_text_of_others_makes_no_headers() -> None:
    body = '{"type": "slot.drained", "data": {"slot": 1, "because": "x\\r\\nBcc: all@lab.example"}}'
    delivery = Delivery("msg_1", "n1", "ada", NoticeKind.SLOT_DRAINED, body, 0.0)
    mail = compose(delivery, "eddy@lab.example", "ada@lab.example", "Eddy")
    assert mail["bcc"] is None
    assert "\nBcc:" not in mail.as_string().partition("\n\n")[0]
    assert mail["subject"] == "[Eddy] slot 1 drained: x  Bcc: all@lab.example"


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"sender": ""}, "smtp_from"),
        ({"security": "none"}, "smtp_security"),
        ({"password_file": ""}, "smtp_password_file"),
        ({"password_file": "/nowhere/password"}, "smtp_password_file"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(tmp_path: Path, changed: dict[str, str], field: str) -> None:
    (tmp_path / "password").write_text("s3cret")
    given: dict[str, Any] = {
        **{"host": "mail", "user": "eddy", "password_file": str(tmp_path / "password"), "sender": "eddy@lab.example"},
        **changed,
    }
    with pytest.raises(InvalidRequest) as refused:
        MailServer(**given).check()
    assert refused.value.details["field"] == field
