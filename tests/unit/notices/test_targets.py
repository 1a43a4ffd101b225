# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which targets tenants may name: no way into the operator's network, however an address is written;
a tenant whose names are never answered for holds up nobody else."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from typing import Any

import pytest
from eddy.core.errors import InvalidRequest
from eddy.notices.lookups import AT_ONCE
from eddy.notices.targets import TargetRules, is_public, parse_mail, parse_webhook
from eddy.notices.webhook import AttemptFailed, addresses_of

INSIDE = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "fec0::1", "2001:db8::1"),
    # The rest of IANA's registries of special-purpose addresses.
    *("192.0.0.1", "192.0.0.8", "192.0.0.9", "192.0.0.170", "192.31.196.1", "192.52.193.1", "192.88.99.1"),
    *("192.175.48.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "172.31.255.255", "100.127.255.255"),
    *("64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:1::1", "2001:2::1", "2001:3::1", "2001:4:112::1"),
    *("2001:10::1", "2001:20::1", "2001:30::1", "2620:4f:8000::1", "3fff::1", "5f00::1", "::1.2.3.4", "4000::1"),
    *("2002:101:101::1", "::ffff:192.88.99.1"),
]
OUTSIDE = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2001:200::1", "::ffff:1.1.1.1", "172.32.0.1", "198.20.0.1"]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(InvalidRequest, match="--webhook-targets"):
        TargetRules().check_addresses("hooks.example.org", [ipaddress.ip_address(address)])


@pytest.mark.parametrize("address", OUTSIDE)
def test_addresses_outside_are(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_one_address_inside_among_many_refuses_the_host() -> None:
    found = [ipaddress.ip_address(each) for each in ("1.1.1.1", "127.0.0.1")]
    with pytest.raises(InvalidRequest):
        TargetRules().check_addresses("twice.example.org", found)
    assert TargetRules().check_addresses("once.example.org", found[:1]) == found[0]


def test_no_address_is_no_place() -> None:
    with pytest.raises(InvalidRequest):
        TargetRules.parse("any", "none").check_addresses("nowhere.example.org", [])


@pytest.mark.parametrize(
    ("told", "host", "address", "allowed"),
    [
        ("none", "hooks.example.org", "1.1.1.1", False),
        ("", "hooks.example.org", "1.1.1.1", False),
        ("any", "hooks.example.org", "127.0.0.1", True),
        ("10.1.0.0/16", "hooks.lab", "10.1.2.3", True),
        ("10.1.0.0/16", "hooks.lab", "10.2.2.3", False),
        ("10.1.0.0/16", "hooks.example.org", "1.1.1.1", False),
        ("10.1.0.0/16, chat.lab", "chat.lab", "192.168.7.7", True),
        ("10.1.0.0/16, chat.lab", "CHAT.lab", "192.168.7.7", True),
        ("fd00::/8", "hooks.lab", "fd00::7", True),
        ("fd00::/8", "hooks.lab", "10.1.2.3", False),
    ],
)
def test_the_operator_says_where_they_may_go(told: str, host: str, address: str, allowed: bool) -> None:
    assert TargetRules.parse(told, "none").may_reach(host, ipaddress.ip_address(address)) is allowed


@pytest.mark.parametrize("told", ["10.0.0.0/40", "public,10.0.0.0/8", "http://hooks", "10.0.0.1/8"])
def test_settings_that_say_nothing_are_refused(told: str) -> None:
    with pytest.raises(InvalidRequest, match="--webhook-targets"):
        TargetRules.parse(told, "none")


@pytest.mark.parametrize(
    "target",
    [
        *(
            "ftp://hooks.example.org/",
            "file:///etc/passwd",
            "gopher://x/",
            "//hooks",
            "http://",
            "http:///x",
            "https://",
        ),
        *("http://user:pass@hooks.example.org/", "http://hooks.example.org@127.0.0.1/", "http://a b/", "http://a\n/"),
        *("http://hooks.example.org:99999/", "http://hooks.example.org:0/", "http://hooks.example.org/#x"),
        *("http://hooks.example.org\\@127.0.0.1/", "http://h\u00f6oks/", f"http://a/{'x' * 600}", "http://[::1%25lo]/"),
    ],
)
def test_what_is_no_target_is_refused(target: str) -> None:
    with pytest.raises(InvalidRequest, match="is no target"):
        parse_webhook(target)


def test_a_target_is_read() -> None:
    found = parse_webhook("https://hooks.example.org/a/b?c=d")
    assert (found.host, found.port, found.secure, found.path) == ("hooks.example.org", 443, True, "/a/b?c=d")
    assert (parse_webhook("http://[::1]:8080").host, parse_webhook("http://[::1]:8080").port) == ("::1", 8080)


@pytest.mark.parametrize(
    "target", ["mailto:", "mailto:ada", "mailto:a@b@c", "mailto:a@b,c@d", "mailto:a@b?bcc=c@d", "mailto:a\r\nb@c"]
)
def test_what_is_no_mail_address_is_refused(target: str) -> None:
    with pytest.raises(InvalidRequest, match="is no mail address"):
        parse_mail(target)


def test_mails_go_to_domains_the_operator_names() -> None:
    assert parse_mail("mailto:ada.l+x@lab.example") == ("ada.l+x@lab.example", "lab.example")
    TargetRules.parse("public", "lab.example, other.example").check_mail("LAB.example")
    TargetRules.parse("public", "any").check_mail("anywhere.example")
    for told in ("none", "", "other.example"):
        with pytest.raises(InvalidRequest, match="--mail-targets"):
            TargetRules.parse("public", told).check_mail("lab.example")


SLOW = parse_webhook("https://slow.example/hook")
QUICK = parse_webhook("https://quick.example/hook")


def test_names_that_are_not_answered_for_hold_up_their_tenant_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        if host == SLOW.host:
            hangs.wait(60)
            raise OSError("no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.7", port))]

    async def attack() -> list[Any]:
        slow = [asyncio.create_task(addresses_of(SLOW, "mallory")) for _ in range(64)]
        await asyncio.sleep(0)
        found = [await addresses_of(QUICK, "ada") for _ in range(20)]
        with pytest.raises(AttemptFailed, match="still being looked up"):
            await addresses_of(QUICK, "mallory")
        threads = sum(thread.name == "eddy-look-up" for thread in threading.enumerate())
        hangs.set()
        failed = await asyncio.gather(*slow, return_exceptions=True)
        assert sum("cannot be resolved" in str(each) for each in failed) == AT_ONCE
        assert await addresses_of(QUICK, "mallory")
        return [threads, *found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    threads, *found = asyncio.run(attack())
    assert threads <= AT_ONCE + 1
    assert {str(address) for each in found for address in each} == {"203.0.113.7"}
