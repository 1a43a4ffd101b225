# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every option of `eddy serve` reaches the server: it is read by its name, so none may be forgotten.
Every number among the settings has a range, wherever it comes from."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from typing import Any

import pytest
from eddy.api.access.hub_tokens import HubSettings
from eddy.api.access.identity_provider import OidcSettings
from eddy.api.access.roles import RoleRules
from eddy.api.service.policy_choice import check_policies
from eddy.cli.boards.serve import serve
from eddy.cli.main import app
from eddy.cli.support import configuration
from eddy.cli.support.server_settings import server_settings
from eddy.core.errors import InvalidRequest
from eddy.host.trust import generate
from eddy.notices.mail import MailServer
from eddy.notices.settings import NoticeSettings
from eddy.notices.targets import TargetRules
from eddy.settings import SETTINGS, Value
from typer.testing import CliRunner
from unit.api.test_settings import NAMES

ELSEWHERE = {"config", "pool", "pool_creds", "pool_name", "pool_width"}
"""Of the configuration file, and of the pool's agent, which runs beside the server."""
MAIL = {f"smtp_{name}" for name in ("host", "port", "security", "user", "password_file", "from")}
PEOPLE = {name for name in SETTINGS if name.startswith(("oidc_", "hub_"))} | {"public_url"}
TOGETHER = {
    *PEOPLE,
    "tls_cert",
    "tls_key",
    "trusted_packages",
    "unsigned_packages",
    "webhook_targets",
    "mail_targets",
    "trusted_proxies",
    *MAIL,
}
"""These name files, and have tests of their own below."""
OPTIONS = [name for name in inspect.signature(serve).parameters if name in SETTINGS]
PLAIN = [name for name in OPTIONS if name not in ELSEWHERE | TOGETHER]
DEFAULTS: dict[str, Value] = {name: SETTINGS[name].default for name in OPTIONS}


def another(name: str, folder: Path) -> Value:
    """A value that is not the default, and may be given."""
    setting = SETTINGS[name]
    if isinstance(setting.default, str):
        others = [each for each in setting.allowed if each != setting.default]
        return others[0] if others else str(folder)
    return setting.default + 1 if isinstance(setting.default, int) else setting.default * 0.75 or 0.75


def test_the_command_has_every_setting_of_the_server() -> None:
    assert {name for name, setting in SETTINGS.items() if setting.read_by == "server"} == set(OPTIONS)


@pytest.mark.parametrize("name", PLAIN)
def test_a_setting_makes_a_difference(name: str, tmp_path: Path) -> None:
    assert server_settings(DEFAULTS) == server_settings(dict(DEFAULTS))
    assert server_settings({**DEFAULTS, name: another(name, tmp_path)}) != server_settings(DEFAULTS)


def test_each_value_is_where_its_name_says(tmp_path: Path) -> None:
    told = {**DEFAULTS, **{name: another(name, tmp_path) for name in PLAIN}}
    told |= {name: value + at for at, (name, value) in enumerate(told.items()) if isinstance(value, int)}
    settings = server_settings(told)
    api = settings.api
    of_api = (api, api.connections, api.uploads, api.retention)
    for part in (*of_api, settings.kernels, settings.price_settings, settings.lease_rules):
        assert {name: getattr(part, name) for name in NAMES[type(part)]} == {
            name: told[setting] for name, setting in NAMES[type(part)].items()
        }
    own = [name for name in PLAIN if hasattr(settings, name)]
    assert {name: str(getattr(settings, name)) for name in own} == {name: str(told[name]) for name in own}
    assert len(own) + sum(map(len, NAMES.values())) == len(PLAIN), "and there are no others"


def test_what_is_said_of_the_provider_is_where_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret")
    said = {"oidc_issuer": "https://login.lab/", "oidc_client_id": "eddy", "public_url": "https://eddy.lab"}
    said |= {"oidc_secret_file": str(tmp_path / "secret"), "oidc_scopes": "openid", "oidc_groups_claim": "roles"}
    said |= {
        "oidc_operators": "admins",
        "oidc_tenants": "lab=ada",
        "oidc_readers": "guests",
        "oidc_projects": "v=vision",
    }
    found = server_settings({**DEFAULTS, **said}).api.oidc
    rules = RoleRules("roles", frozenset({"admins"}), (("lab", "ada"),), frozenset({"guests"}), (("v", "vision"),))
    assert found == OidcSettings(
        "https://login.lab", "eddy", str(tmp_path / "secret"), "openid", "https://eddy.lab", rules
    )
    assert server_settings(DEFAULTS).api.oidc == OidcSettings()


def test_what_is_said_of_the_hub_is_where_its_name_says() -> None:
    said = {"hub_api": "https://hub.lab/hub/api", "hub_service": "board", "hub_users": "kim=ada", "hub_groups": "g=lab"}
    found = server_settings({**DEFAULTS, **said}).api.hub
    assert found == HubSettings("https://hub.lab/hub/api", "board", (("kim", "ada"),), (("g", "lab"),))
    assert server_settings(DEFAULTS).api.hub == HubSettings()


def test_what_is_said_of_notices_is_where_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret")
    said = {"smtp_host": "mail", "smtp_port": 25, "smtp_security": "tls", "smtp_user": "eddy", "smtp_from": "e@lab"}
    said |= {"smtp_password_file": str(tmp_path / "password"), "webhook_targets": "10.0.0.0/8", "mail_targets": "lab"}
    found = server_settings({**DEFAULTS, **said}).api.notices
    assert found.mail == MailServer("mail", 25, "tls", "eddy", str(tmp_path / "password"), "e@lab")
    assert found.rules == TargetRules.parse("10.0.0.0/8", "lab")
    assert server_settings(DEFAULTS).api.notices == NoticeSettings()
    with pytest.raises(InvalidRequest, match="--smtp-from"):
        server_settings({**DEFAULTS, "smtp_host": "mail"})


def test_proxies_that_are_trusted_are_those_that_are_named() -> None:
    found = server_settings({**DEFAULTS, "trusted_proxies": "10.1.0.7, fd00::/64"}).api.connections
    told = ("10.1.0.7", "10.1.0.8", "fd00::1", "fd01::1", "")
    assert [found.is_proxy(each) for each in told] == [True, False, True, False, False]
    assert not server_settings(DEFAULTS).api.connections.is_proxy("127.0.0.1")
    for wrong in ("*", "proxy.lab", "10.1.0.7/8", "10.1.0.7;10.1.0.8"):
        with pytest.raises(InvalidRequest, match="--trusted-proxies"):
            server_settings({**DEFAULTS, "trusted_proxies": wrong})


@pytest.mark.parametrize(("name", "missing"), [("tls_cert", "tls_key"), ("tls_key", "tls_cert")])
def test_a_certificate_and_its_key_go_together(name: str, missing: str) -> None:
    with pytest.raises(InvalidRequest, match="go together") as refused:
        server_settings({**DEFAULTS, name: "some.pem"})
    assert refused.value.details["field"] == missing


def test_signers_are_those_of_the_folder(tmp_path: Path) -> None:
    told = {**DEFAULTS, "trusted_packages": str(tmp_path)}
    with pytest.raises(InvalidRequest, match="holds no key"):
        server_settings(told)
    generate(tmp_path / "signer")
    trust = [server_settings({**told, "unsigned_packages": unsigned}).packages for unsigned in ("refuse", "allow")]
    assert [(each.required, len(each.keys)) for each in trust] == [(True, 1), (False, 1)]


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"kernel_slices": 0}, "kernel_slices"),
        ({"kernel_time_limit_s": 0.0}, "kernel_time_limit_s"),
        ({"kernel_time_limit_s": float("nan")}, "kernel_time_limit_s"),
        ({"price_quantum_s": 0.0}, "price_quantum_s"),
        ({"price_quantum_s": 0.2, "price_epoch_s": 0.1}, "price_quantum_s"),
        ({"price_epoch_s": float("nan")}, "price_quantum_s"),
    ],
    ids=str,
)
def test_values_that_do_not_go_together_are_refused_by_name(told: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        server_settings({**DEFAULTS, **told})
    assert refused.value.details["field"] == field


def test_flags_and_the_file_reach_the_server_by_their_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr("eddy.cli.boards.serve._run", lambda *given: started.append(given))
    file = tmp_path / "serve.yaml"
    file.write_text("page_size: 7\nport: 0\nprice_epoch_s: 1\n")
    done = CliRunner().invoke(app, ["serve", "--board", "model", "--config", str(file), "--page-size", "9"])
    assert done.exit_code == 0, done.output
    settings, reloader, has_file, *_ = started[0]
    assert (settings.board, settings.port, settings.api.page_size, has_file) == ("model", 0, 9, True)
    assert settings.price_settings.epoch_s == 1.0
    assert [reloader.values[name] for name in ("page_size", "port", "price_epoch_s")] == [9, 0, 1.0]


CHECKED_BY_SERVE = {"price_quantum_s", "price_epoch_s", "kernel_slices", "kernel_time_limit_s"}
"""Two of them have a bound in each other, and all must be above 0."""
BOUNDED = [name for name, setting in SETTINGS.items() if setting.least is not None]


def written(folder: Path, text: str) -> Path:
    path = folder / "serve.yaml"
    path.write_text(text)
    return path


def test_every_number_has_a_range() -> None:
    numbers = {name for name, setting in SETTINGS.items() if not isinstance(setting.default, str)}
    assert numbers == {*BOUNDED, *CHECKED_BY_SERVE}
    assert not [name for name, setting in SETTINGS.items() if setting.wrong(setting.default)]


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_out_of_range_is_refused_from_wherever_it_comes(name: str, tmp_path: Path) -> None:
    setting = SETTINGS[name]
    assert setting.least is not None
    outside: list[int | float] = [-1 if isinstance(setting.default, int) else -0.5]
    outside += [int(setting.most) + 1] if setting.most is not None else []
    outside += [math.nan, math.inf] if isinstance(setting.default, float) else []
    for value in outside:
        assert "must be at least" in setting.wrong(value)
        with pytest.raises(ValueError, match=f"{setting.environment} is .*must be at least"):
            setting.parse(str(value))
        if setting.read_by != "server":
            continue
        text = f"{name}: {'.nan' if value != value else '.inf' if math.isinf(value) else value}\n"
        with pytest.raises(InvalidRequest, match=f"{name} is .*must be at least"):
            configuration.read(written(tmp_path, text))
        done = CliRunner().invoke(app, ["serve", f"{setting.flag}={value}", "--data", str(tmp_path / "data")])
        assert (done.exit_code, "must be at least" in " ".join(done.stderr.replace("│", " ").split())) == (2, True), (
            done.stderr
        )
        assert not (tmp_path / "data").exists()


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="has page_size twice"):
        configuration.read(written(tmp_path, "page_size: 10\nport: 1\npage_size: 20\n"))
    assert configuration.read(written(tmp_path, "")) == {}


def test_policies_that_do_not_exist_are_refused() -> None:
    good = {"policy": "eddy", "gpu_policy": "fcfs", "price": "market"}
    check_policies(good)
    for name in good:
        with pytest.raises(InvalidRequest):
            check_policies({**good, name: "nosuch"})
