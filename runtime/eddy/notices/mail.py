# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One attempt to hand a message to the mail server."""

from __future__ import annotations

import json
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from eddy.core.errors import InvalidRequest
from eddy.core.notices import Delivery
from eddy.notices.webhook import Outcome

TIMEOUT_S = 20.0
"""Wall seconds for each exchange with the mail server."""
STARTTLS, TLS, PLAIN = "starttls", "tls", "none"


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mails are handed over.

    Attributes:
        host: Its name; "" where there is none.
        port: TCP port.
        security: `starttls`, `tls` or `none`.
        user: Who logs in; "" for nobody.
        password_file: File with the password.
        sender: Address mails come from.
    """

    host: str = ""
    port: int = 587
    security: str = STARTTLS
    user: str = ""
    password_file: str = ""
    sender: str = ""

    def check(self) -> None:
        """See that the settings go together.

        Raises:
            InvalidRequest: They do not.
        """
        if self.host and not self.sender:
            raise InvalidRequest("--smtp-host needs --smtp-from: the address mails come from.", field="smtp_from")
        if self.user and self.security == PLAIN:
            message = "--smtp-user with --smtp-security none would send the password in the clear."
            raise InvalidRequest(message, field="smtp_security", allowed=[STARTTLS, TLS])
        if self.user and not self.password_file:
            raise InvalidRequest("--smtp-user needs --smtp-password-file.", field="smtp_password_file")
        if self.user:
            self.password()

    def password(self) -> str:
        """The password; it is read each time, as it may be replaced.

        Raises:
            InvalidRequest: The file cannot be read.
        """
        path = Path(self.password_file).expanduser()
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as failure:
            raise InvalidRequest(f"{path} cannot be read: {failure}.", field="smtp_password_file") from failure


def compose(delivery: Delivery, sender: str, address: str, server_name: str) -> EmailMessage:
    """The mail of a message.

    Args:
        sender: Address it comes from.
        server_name: What the server is called, for the subject.
    """
    body = json.loads(delivery.body)
    data = body.get("data", {})
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, address
    mail["Subject"] = _one_line(f"[{server_name}] {summary(delivery.kind.value, data)}")[:200]
    mail["Date"] = format_datetime(datetime.fromtimestamp(delivery.created_unix_s, timezone.utc))
    mail["Message-ID"] = f"<{delivery.id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [summary(delivery.kind.value, data), "", *(f"{name}: {_value(value)}" for name, value in data.items())]
    lines += ["", f"You get this because of the subscription {delivery.subscription}.",
              f"`eddy notify remove {delivery.subscription}` ends it."]  # fmt: skip
    mail.set_content("\n".join(lines))
    return mail


def summary(kind: str, data: Mapping[str, Any]) -> str:
    """A message in one sentence."""
    if kind == "job.ended":
        return f"job {data.get('job')} {data.get('state')}" + (f": {data['cause']}" if data.get("cause") else "")
    if kind.startswith("slot."):
        because = f": {data['because']}" if data.get("because") else ""
        return f"slot {data.get('slot')} {'drained' if kind == 'slot.drained' else 'in use again'}{because}"
    if kind.startswith("lease."):
        what = {"lease.began": "has begun", "lease.noticed": "is to end early"}.get(kind, "has ended")
        why = data.get("cause") if kind == "lease.ended" else data.get("notice")
        return f"lease {data.get('lease')} {what}" + (f": {why}" if why else "")
    if kind.startswith("maintenance."):
        when = f"from {data.get('begins')} to {data.get('ends')}"
        return f"maintenance {kind.partition('.')[2]}: {data.get('title')}, {when}"
    return "a test message"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def send(server: MailServer, mail: EmailMessage) -> Outcome:
    """Hand a mail over; blocks. Every way to fail is an outcome."""
    if not server.host:
        return Outcome(False, said="this server sends no mails: the operator's setting --smtp-host is not set")
    try:
        with _connect(server) as connection:
            if server.security == STARTTLS:
                connection.starttls(context=ssl.create_default_context())
            if server.user:
                connection.login(server.user, server.password())
            connection.send_message(mail)
    except smtplib.SMTPRecipientsRefused as failure:
        code = next(iter(failure.recipients.values()))[0]
        return Outcome(False, code, f"the mail server refused the address ({code})")
    except smtplib.SMTPResponseException as failure:
        return Outcome(False, failure.smtp_code, f"the mail server answered {failure.smtp_code}")
    except ssl.SSLError as failure:
        return Outcome(False, said=f"TLS failed: {failure.reason or 'the certificate is not accepted'}")
    except (OSError, smtplib.SMTPException, InvalidRequest) as failure:
        return Outcome(False, said=f"the mail server cannot be used ({type(failure).__name__})")
    return Outcome(True, 250)


def _connect(server: MailServer) -> smtplib.SMTP:
    if server.security == TLS:
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_S, context=context)
    return smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
