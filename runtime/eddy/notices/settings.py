# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the operator sets about notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.notices.mail import MailServer
from eddy.notices.targets import TargetRules


@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """Which targets tenants may name, and where mails are handed over."""

    rules: TargetRules = field(default_factory=TargetRules)
    mail: MailServer = field(default_factory=MailServer)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> NoticeSettings:
        """The settings by their names in `eddy.settings`.

        Raises:
            InvalidRequest: They do not go together, or one cannot be read.
        """
        mail = MailServer(
            host=told["smtp_host"],
            port=told["smtp_port"],
            security=told["smtp_security"],
            user=told["smtp_user"],
            password_file=told["smtp_password_file"],
            sender=told["smtp_from"],
        )
        mail.check()
        return cls(TargetRules.parse(told["webhook_targets"], told["mail_targets"]), mail)
