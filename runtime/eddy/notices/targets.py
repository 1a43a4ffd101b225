# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where notices may go.

A server that fetches what a tenant names reaches what the tenant does not: the operator's network, the board itself,
the address of a cloud's metadata. So tenants' webhooks go to addresses that all of the internet reaches, unless the
operator names others; the address is checked each time, and the connection goes to the very address that was checked.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from eddy.core.errors import InvalidRequest

PUBLIC, NONE, ANY = "public", "none", "any"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
MAX_TARGET = 500
_UNICAST_6 = ipaddress.ip_network("2000::/3")
"""What IANA gives out of IPv6 ("Internet Protocol Version 6 Address Space"); all else is local, reserved or unused, as
::/8 with NAT64's 64:ff9b::/96, 5f00::/16, fc00::/7, fe80::/10 and ff00::/8."""
_SPECIAL: tuple[Network, ...] = tuple(
    ipaddress.ip_network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)
"""IANA's registries of special-purpose addresses (RFC 6890), with multicast. Relays, anycast services and what is
deprecated are among them, though some are reachable: no receiver of notices is there, and a relay may lead inside."""
_MAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*)")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A URL that can be posted to.

    Attributes:
        port: TCP port.
        secure: Whether with TLS.
        path: With its query.
    """

    host: str
    port: int
    secure: bool
    path: str


@dataclass(frozen=True, slots=True)
class TargetRules:
    """Which targets tenants may name; operators may name any.

    Attributes:
        addresses: `public`, `any`, `none`, or what `networks` and `hosts` hold.
        networks: Networks that webhooks may go to.
        hosts: Host names that they may go to, whatever address these have.
        domains: Domains that mails may go to; empty for none.
        any_mail: Whether mails may go to every domain.
    """

    addresses: str = PUBLIC
    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    any_mail: bool = False

    @classmethod
    def parse(cls, webhooks: str, mails: str) -> TargetRules:
        """Read the settings `webhook_targets` and `mail_targets`.

        Raises:
            InvalidRequest: One names what is neither a network nor a host.
        """
        words = [word.strip().lower() for word in webhooks.split(",") if word.strip()] or [NONE]
        networks: list[Network] = []
        hosts: list[str] = []
        for word in words if len(words) > 1 or words[0] not in (PUBLIC, NONE, ANY) else ():
            try:
                networks.append(ipaddress.ip_network(word))
            except ValueError:
                if word in (PUBLIC, NONE, ANY) or not _HOST.fullmatch(word) or "/" in word:
                    allowed = f"{PUBLIC}, {NONE}, {ANY}, or networks and host names with commas between"
                    message = f"--webhook-targets has {word!r:.100}; it must be {allowed}."
                    raise InvalidRequest(message, field="webhook_targets", allowed=allowed) from None
                hosts.append(word)
        kind = words[0] if not (networks or hosts) else "named"
        domains = {word.strip().lower() for word in mails.split(",") if word.strip()} - {NONE}
        return cls(kind, tuple(networks), frozenset(hosts), frozenset(domains - {ANY}), ANY in domains)

    def may_reach(self, host: str, address: Address) -> bool:
        """Whether a tenant's webhook to a host may go to one of its addresses."""
        if self.addresses in (ANY, NONE):
            return self.addresses == ANY
        if self.addresses == PUBLIC:
            return is_public(address)
        return host.lower() in self.hosts or any(
            each.version == address.version and address in each for each in self.networks
        )

    def check_mail(self, domain: str) -> None:
        """See that a tenant may have mails sent to a domain.

        Raises:
            InvalidRequest: It may not.
        """
        if not self.any_mail and domain.lower() not in self.domains:
            allowed = sorted(self.domains)
            message = f"Mails to {domain} are not allowed here; the operator's setting --mail-targets names domains."
            raise InvalidRequest(message, field="target", allowed=allowed)

    def check_addresses(self, host: str, addresses: Iterable[Address]) -> Address:
        """The first address of a host, where a tenant's webhook may go to all of them: one that may not is no accident.

        Raises:
            InvalidRequest: One is not allowed, or there is none.
        """
        found = list(addresses)
        wrong = [address for address in found if not self.may_reach(host, address)]
        if wrong or not found:
            message = (
                f"{host} is not a place webhooks of tenants may go to here: the operator's setting --webhook-targets"
                " says which are."
            )
            raise InvalidRequest(message, field="target")
        return found[0]


def is_public(address: Address) -> bool:
    """Whether all of the internet reaches an address, also the one that is carried within it: it is no multicast
    address, and in none of IANA's blocks for a special purpose. Python's own table differs from release to release."""
    carried = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if carried is not None:
        return is_public(carried)
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST_6:
        return False
    return not any(each.version == address.version and address in each for each in _SPECIAL)


def parse_webhook(target: str) -> WebhookTarget:
    """A URL that webhooks can go to.

    Raises:
        InvalidRequest: It is none.
    """
    allowed = "https://HOST/PATH, http://HOST/PATH or mailto:NAME@HOST"
    wrong = InvalidRequest(f"{target!r:.100} is no target; give {allowed}.", field="target", allowed=allowed)
    if len(target) > MAX_TARGET or not target.isascii() or any(letter <= " " or letter == "\x7f" for letter in target):
        raise wrong
    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError:
        raise wrong from None
    host = parts.hostname or ""
    named = parts.username is None and parts.password is None and not parts.fragment and "\\" not in target
    if parts.scheme not in ("http", "https") or not named or not _HOST.fullmatch(host) or port == 0:
        raise wrong
    secure = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return WebhookTarget(host, port or (443 if secure else 80), secure, path)


def parse_mail(target: str) -> tuple[str, str]:
    """The address that a ``mailto:`` target names, and its domain.

    Raises:
        InvalidRequest: It names none, or several.
    """
    address = target.removeprefix("mailto:")
    found = _MAIL.fullmatch(address)
    if found is None or len(target) > MAX_TARGET:
        allowed = "mailto:NAME@HOST"
        raise InvalidRequest(f"{target!r:.100} is no mail address; give {allowed}.", field="target", allowed=allowed)
    return address, found.group(1)
