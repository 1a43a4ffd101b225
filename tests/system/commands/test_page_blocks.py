# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every block of code of the how-tos and tutorials is run here, or by a test that reads the page, or is in a list that
says why it is not; a block that is new, and in none of the lists, is an error.

One server on the model board stands for the lab's; a receiver of webhooks and a folder stand for what is elsewhere.
"""

from __future__ import annotations

import collections
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope
from blocks_kit import PAGES, ROOT, Desk, Typist, blocks, text_of, until
from certificate_kit import make_certificate
from doc_session import READY, free_port
from eddy.api.dependencies.context import ApiSettings
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.core.leases import LeaseRules
from eddy.host.trust import generate
from eddy.notices.mail import MailServer
from eddy.notices.settings import NoticeSettings
from eddy.notices.signature import sign
from eddy.notices.targets import TargetRules
from forks_kit import forks
from PIL import Image
from receiver_kit import Receiver

pytestmark = pytest.mark.xdist_group("page blocks")
BITSTREAMS = ROOT / "bitstreams"
RUN, SHOWN = "run", "shown"
"""Run below; or no command: what something prints, or what is to be changed in a file of another block."""
BOARD, ROOT_USER, NOTARY, VENDOR, PACKAGES, REGISTRY, MACHINES, CONTAINER = (
    "needs a board",
    "changes a system as root: services, users, /etc; `make board-units` and `make board-chroot` do it in a container",
    "needs boardd and serve as users of their own: tests/unit/board/remote/test_notary.py does the same by calls",
    "needs Vivado: tests/unit/sim/test_vivado_flow.py runs it dry, where there is tclsh",
    "installs what is built: `make packages` types it in bare systems, outside the clone",
    "installs what is published, and nothing is yet",
    "needs servers beside ours, for minutes: tests/system/pool and `make` targets start them by rigs of their own",
    "needs an engine for containers, and a registry of images to begin with",
)
RTL = "builds RTL for half a minute: tests/system/jobs/test_module_import.py does the same by calls"
"""Why a block is not run."""
_WALKED = {
    "pool": "tests/system/pool/test_pool_cluster.py",
    "your-hls-kernel": "tests/system/jobs/test_module_import.py",
    "first-job": "tests/system/commands/test_demo.py",
    "first-kernel": "tests/system/kernels/test_server_kernels.py",
    "sign-on": "tests/system/service/test_login_sso.py",
    "use-stock-pynq": "tests/system/board/test_pynq_stock.py",
    "your-own-module": "sim/rtl/hls_wrapper/test_module_new.py",
}
"""Tests that read a page and run blocks of it."""
READERS = (*Path(__file__).parent.glob("test_page_blocks*.py"), ROOT / "tests/system/pool/test_pool_page.py")
"""Tests that type blocks by their page and place."""
WALKED = "walked"
PLAN: dict[str, list[str]] = {
    "back-up": [RUN, RUN],
    "board-from-elsewhere": [RUN, RUN, RUN, RUN],
    "bring-up": [BOARD, BOARD, ROOT_USER, RUN, RUN, BOARD, RUN],
    "build-for-a-board": [VENDOR, VENDOR, VENDOR],
    "configure": [RUN, RUN, RUN, RUN, RUN],
    "dashboard": [],
    "import-packages": [RUN, RUN],
    "install": [PACKAGES, PACKAGES, REGISTRY, PACKAGES, RUN, CONTAINER, CONTAINER],
    "jupyterhub": [SHOWN, RUN, RUN],
    "lease-a-slot": [RUN, RUN, RUN, RUN, RUN],
    "maintenance": [RUN],
    "monitor": [SHOWN, RUN],
    "notices": [RUN, RUN, RUN, RUN, RUN, RUN],
    "operate": [RUN, RUN, RUN, RUN, RUN, RUN, RUN, RUN, SHOWN, RUN, NOTARY, RUN],
    "pool": [RUN, RUN, RUN, MACHINES] + [WALKED] * 9 + [RUN, RUN, MACHINES],
    "sign-bitstreams": [RUN, RUN, RUN, RUN],
    "sign-on": [RUN, WALKED],
    "sign-packages": [RUN, RUN, RUN, RUN],
    "use-stock-pynq": [WALKED, WALKED, WALKED, SHOWN],
    "first-job": [WALKED, RUN, RUN, RUN, RUN, SHOWN, RUN],
    "first-kernel": [RUN, RUN, WALKED, WALKED, WALKED, SHOWN, WALKED, SHOWN, RUN, WALKED],
    "your-hls-kernel": [WALKED, WALKED, RTL, RTL],
    "your-own-module": [RUN, WALKED, WALKED, WALKED, RUN],
}
"""By page: what becomes of each of its blocks, in order."""
NOT_RUN = 18
"""Blocks that no test runs."""


def test_every_block_is_run_or_is_in_a_list_that_says_why_not() -> None:
    assert {page.stem for page in PAGES} == set(PLAN)
    wrong = {page: (len(plan), len(blocks(page))) for page, plan in PLAN.items() if len(plan) != len(blocks(page))}
    assert not wrong, "blocks were added or taken away: (in the plan, on the page)"
    counts = collections.Counter(what for plan in PLAN.values() for what in plan)
    for what, count in counts.most_common():
        print(f"{count:4} {what}")
    assert sum(count for what, count in counts.items() if what not in (RUN, SHOWN, WALKED)) == NOT_RUN
    for page, plan in PLAN.items():
        if WALKED in plan:
            assert f"{page}.md" in (ROOT / _WALKED[page]).read_text(encoding="utf-8")


def test_every_block_that_is_to_be_run_is_run_below() -> None:
    """By its page and place, as `typed` and `text_of` are told them."""
    told = "".join(file.read_text(encoding="utf-8") for file in READERS)
    found = set(re.findall(r'"([a-z-]+)",\s*(\d+)', told))
    wanted = {(page, str(at)) for page, plan in PLAN.items() for at, what in enumerate(plan) if what == RUN}
    assert found == wanted


@dataclass
class Lab(Desk):
    """The lab's server, and somebody who types there."""

    server: Server
    mailbox: Mailbox

    def be(self, name: str) -> None:
        """Type with a tenant's key from now on."""
        with Client(self.server.url, self.server.key_file.read_text().strip()) as operator:
            self.typist.environment["EDDY_KEY"] = operator.add_tenant(name)["key"]


class Mailbox:
    """What a mail server took."""

    def __init__(self) -> None:
        self.taken: list[Envelope] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:
        self.taken.append(envelope)
        return "250 taken"


@pytest.fixture(scope="module")
def mails() -> Iterator[Controller]:
    controller = Controller(Mailbox(), hostname="127.0.0.1", port=free_port())
    controller.start()
    yield controller
    controller.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, mails: Controller) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("lab")
    mail = MailServer("127.0.0.1", mails.port, "none", sender="eddy@lab.example")
    api = ApiSettings(notices=NoticeSettings(TargetRules.parse("any", "lab.example"), mail))
    settings = ServerSettings("model", "kv260", "eddy", folder / "data", BITSTREAMS, port=0, api=api)
    with Server(settings).background() as running:
        yield running


@pytest.fixture
def lab(server: Server, mails: Controller, tmp_path: Path) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        environment = {
            "EDDY_URL": server.url,
            "EDDY_KEY": server.key_file.read_text().strip(),
            "EDDY_BOARD": "model",
            "EDDY_DATA": str(tmp_path / "own-data"),
            "HOME": str(tmp_path),
            "COLUMNS": "120",
        }
        yield Lab(Typist(tmp_path, environment, patch), tmp_path, server, mails.handler)


def data_of(lab: Lab) -> str:
    return str(lab.server.settings.data)


def test_back_up(lab: Lab) -> None:
    lab.typist.environment["EDDY_DATA"] = data_of(lab)
    there, backup = ("/var/lib/eddy", f"{lab.folder}/restored"), ("/backups", f"{lab.folder}/backups")
    lab.typed("back-up", 0, backup, ("sha256sum", f"cd {lab.folder}/backups/2026-11-22\nsha256sum"))
    lab.typed("back-up", 1, backup, there)
    assert lab.typist.served[0].data == lab.folder / "restored"


def test_configure(lab: Lab) -> None:
    files = make_certificate(lab.folder)
    settings = text_of("configure", 1)
    for name, file in (("fullchain", files.certificate), ("key", files.key)):
        settings = settings.replace(f"/etc/eddy/tls/{name}.pem", str(file))
    (lab.folder / "serve.yaml").write_text(settings)
    lab.typed("configure", 0, ("/etc/eddy/serve.yaml", f"{lab.folder}/serve.yaml"))
    lab.typed("configure", 3, ("fullchain.pem", str(files.certificate)), ("key.pem", str(files.key)))
    lab.typed("configure", 4)
    first, second, third = lab.typist.served
    assert (third.host, third.tls) == ("127.0.0.1", None)
    reloaded(lab, lab.folder / "serve.yaml")
    assert (first.profile, first.api.max_output_bytes, first.port) == ("zcu106", 16 << 30, 8443)
    assert (second.host, second.tls) == ("0.0.0.0", first.tls)


def reloaded(lab: Lab, settings: Path) -> None:
    """A server of its own process: what is sent SIGHUP may not be this one."""
    log, data = lab.folder / "reloaded.log", lab.folder / "reloaded"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDDY_LOG_LEVEL", "info")
        command = ["eddy", "serve", "--config", str(settings), "--port", "0", "--data", str(data), "--board", "model"]
        served = forks().start(command, log)
    lab.typist.ongoing.append((served, log))
    until(lambda: READY.search(log.read_text()) if log.exists() else False)
    settings.write_text(settings.read_text().replace("retention_age_s: 7776000", "retention_age_s: 86400"))
    lab.typed("configure", 2, ("DATA", str(data)))
    until(lambda: "retention_age_s" in log.read_text())
    lab.typist.end()


def test_a_tree_of_modules(lab: Lab) -> None:
    lab.typed("install", 4)
    assert (lab.folder / "mine/hw/ip/brighten/rtl/brighten_core.sv").is_file()
    shutil.rmtree(lab.folder / "mine" / "hw" / "ip" / "brighten")
    for folder in ("bitstreams", "sim/rtl"):
        shutil.rmtree(lab.folder / "mine" / folder / "brighten")
    made = ("make test ARGS=--help >/dev/null       # makes .venv the first time\n", "")
    lab.typed("your-own-module", 0, made, (". .venv/bin/activate\n", ""))
    page = (ROOT / "docs/tutorials/your-own-module.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `((?:hw|bitstreams|sim)/[^`]*)`", page, re.MULTILINE))
    assert named
    assert [name for name in named if not (lab.folder / "mine" / name).exists()] == []

    from eddy.packages.applications import parse_application

    application = parse_application(yaml.safe_load(text_of("your-own-module", 4)))
    assert [task.module for task in application.tasks] == ["brighten"]


def test_a_lease(lab: Lab) -> None:
    operator = dict(lab.typist.environment)
    lab.be("ada")
    key = lab.typist.environment["EDDY_KEY"]
    head = "export EDDY_URL=https://board.lab.example:8000 EDDY_KEY=eddy_...\n"
    taken = lab.typist.type("eddy lease slot --module dct --for 30m")
    name = taken.split()[0]
    # The script itself, on two leased slots of RTL, is tests/system/board/test_leases_rtl.py.
    lab.typed("lease-a-slot", 1, ("python script.py", ""), ("env LEASE", f"env {name}"))
    assert lab.typist.environment["EDDY_LEASE"] == name
    said = lab.typed(
        "lease-a-slot", 0, (head, f"export EDDY_URL={lab.server.url} EDDY_KEY={key}\n"),
        ("eddy lease slot --module dct --for 30m\n", ""), ("release LEASE", f"release {name}"),
        ("extend LEASE", f"extend {name}"),
    )  # fmt: skip
    assert name in said
    lab.typist.environment = operator
    generate(lab.folder / "own.key")
    trusted = lab.folder / "trusted-keys"
    lab.typed("lease-a-slot", 4, ("/etc/eddy/trusted-keys", str(trusted)))
    assert (trusted / "tenants/ada/own.pub").is_file()
    lab.typed("lease-a-slot", 3)
    assert lab.typist.served[0].lease_rules == LeaseRules(600.0, 60.0, 0.5)
    lease = lab.asked("leases")["leases"][-1]["lease"]
    lab.typist.type(f"eddy lease release {lease}")
    signs_and_loads(lab, trusted)


def signs_and_loads(lab: Lab, trusted: Path) -> None:
    """The block that loads an image of one's own, on a server whose board trusts the key."""
    from contract.images import make_image
    from eddy.board.model.model import SHELL
    from eddy.board.port.profile import load_profile

    profile, images = load_profile("kv260"), lab.folder / "build/bitstreams/kv260"
    images.mkdir(parents=True)
    for slot in profile.slots:
        made = make_image(images, profile, SHELL, "dct", slot.index)
        for suffix in (".bit", ".json"):
            (images / f"dct__slot{made.slot}{suffix}").rename(images / f"brighten__slot{made.slot}{suffix}")
    settings = ServerSettings("model", "kv260", "eddy", lab.folder / "two", BITSTREAMS, port=0, trusted_keys=trusted)
    with Server(settings).background() as server:
        lab.typist.environment |= {"EDDY_URL": server.url, "EDDY_KEY": server.key_file.read_text().strip()}
        with Client(server.url, server.key_file.read_text().strip()) as operator:
            lab.typist.environment["EDDY_KEY"] = operator.add_tenant("ada")["key"]
        name = lab.typist.type("eddy lease slot --for 30m").split()[0]
        lab.typed("lease-a-slot", 2, ("eddy lease load LEASE", f"eddy lease load {name}"))
        assert [*lab.asked("lease", "show", name)["holds"].values()] == ["own/dct"]


def test_maintenance(lab: Lab) -> None:
    lab.typist.type('eddy maintenance plan "for the page" --from +2h --for 30m')
    there = lab.asked("maintenance", "list")["windows"]
    window = next(each["id"] for each in there if each["title"] == "for the page")
    lab.typed("maintenance", 0, ("2026-12-24", "2099-12-24"), ("w1f0c22ab", window))
    shown = {each["title"]: each["stage"] for each in lab.asked("maintenance", "list")["windows"]}
    assert shown["for the page"] == "cancelled"
    for each in lab.asked("maintenance", "list")["windows"]:
        if each["stage"] not in ("cancelled", "ended"):
            lab.typist.type(f"eddy maintenance cancel {each['id']}")


def test_the_end_of_bringing_up_a_board(lab: Lab) -> None:
    Image.new("L", (300, 200), 90).save(lab.folder / "photograph.png")
    lab.typed(
        "bring-up", 6, ("export PATH=/opt/eddy/current/bin:$PATH EDDY_KEY=$(sudo cat /var/lib/eddy/operator.key)", ""),
        ("EDDY_KEY=... ", ""),
    )  # fmt: skip
    assert "alice" in {each["id"] for each in lab.asked("tenant", "list")["tenants"]}


def test_traces(lab: Lab) -> None:
    lab.typed("monitor", 1, ("pip install 'eddy-fpga[otel]'       # where Eddy is installed\n", ""))
    assert lab.typist.served[0].traces == "http://127.0.0.1:4318/v1/traces"


def test_notices(lab: Lab) -> None:
    with Receiver() as hook:
        lab.typed("notices", 0, ("https://hooks.example.org/eddy", hook.url))
        name = lab.asked("notify", "list")["subscriptions"][0]["id"]
        test = json.loads(lab.typist._eddy(["notify", "test", name, "--json"], lab.typist.environment))["id"]
        until(lambda: hook.got)
        shown = json.loads(text_of("notices", 1))
        assert hook.bodies()[0].keys() == shown.keys()
        lab.typed("notices", 5, ("n4be12c90f3d1", name), ("msg_6f1d2c3b4a5968778695a4b3", test))
    lab.typed("notices", 3)
    subscriptions = lab.asked("notify", "list")["subscriptions"]
    mail = next(each["id"] for each in subscriptions if each["target"].startswith("mailto:"))
    lab.typist.type(f"eddy notify test {mail}")
    (envelope,) = until(lambda: list(lab.mailbox.taken))
    assert envelope.rcpt_tos == ["ada@lab.example"]
    lab.typist.type(f"eddy notify remove {mail}")
    (lab.folder / "mail.yaml").write_text(
        text_of("notices", 4).replace("/etc/eddy/smtp-password", f"{lab.folder}/password")
    )
    (lab.folder / "password").write_text("s3cret")
    lab.typist.type(f"eddy serve --config {lab.folder}/mail.yaml")
    assert lab.typist.served[0].api.notices.mail.host == "mail.lab.example"


def test_the_signature_of_a_notice() -> None:
    """The lines of the page inside a receiver."""
    code = text_of("notices", 2)
    assert "return 401" in code
    lines = ["def receive(secret, headers, body):", *(f"    {line}" for line in code.splitlines()), "    return 204"]
    there: dict[str, Any] = {"time": __import__("time")}
    exec("\n".join(lines), there)
    secret = "whsec_" + "QUJD" * 8
    headers = {name.lower(): value for name, value in sign(secret, "msg_1", int(there["time"].time()), b"{}").items()}
    assert there["receive"](secret, headers, b"{}") == 204
    assert there["receive"](secret, headers, b"{ }") == 401


def test_operate(lab: Lab) -> None:
    lab.typed("operate", 0)
    lab.typed("operate", 1)
    lab.typist.type("eddy policy eddy")
    lab.typed(
        "operate", 2, ("eddy key rotate k5c0ffee5c0ff --grace-s 3600\neddy key revoke k5c0ffee5c0ff", ""),
        ("add ada", "add operated"), ("set ada", "set operated"),
    )  # fmt: skip
    made = next(each["id"] for each in lab.asked("key", "list")["keys"] if each["label"] == "the lab's screen")
    lab.typist.type(f"eddy key rotate {made} --grace-s 3600\neddy key revoke {made}")
    assert "k5c0ffee5c0ff --grace-s 3600" in text_of("operate", 2)
    known = {each["id"] for each in lab.asked("tenant", "list")["tenants"]}
    lab.typist.type("\n".join(f"eddy tenant add {name}" for name in ("ada", "kim", "grace") if name not in known))
    said = lab.typed("operate", 3)
    assert "ada, grace" in said
    lab.typed("operate", 4)
    assert (lab.folder / "november.csv").read_text().startswith("day,")
    lab.typed("operate", 5)
    lab.typed("operate", 6, ("--tenant ada", "--tenant operated"))
    assert lab.typist.served[0].api.max_output_bytes == 16 << 30
    assert [each.api.retention.max_jobs for each in lab.typist.served] == [0, 0, 100_000]
    lab.typed("operate", 7, ("remove ada                 # refused while she has unfinished jobs\neddy", "list\neddy"),
              ("remove ada --cancel", "remove operated --cancel"))  # fmt: skip
    lab.typist.environment["EDDY_DATA"] = data_of(lab)
    said = lab.typed("operate", 9)
    head = re.search(r"\b\d+:[0-9a-f]{16,}", said)
    assert head is not None
    lab.typed("operate", 11, ("17:5f3a...", head[0]))


def test_sign_bitstreams(lab: Lab) -> None:
    from contract.images import make_images
    from eddy.board.port.profile import load_profile

    make_images(lab.folder / "build/bitstreams/zcu106", load_profile("zcu106"), "0" * 16, ("dct",))
    trusted = ("/etc/eddy/trusted-keys", str(lab.folder / "trusted"))
    (lab.folder / "trusted").mkdir()
    lab.typed("sign-bitstreams", 0)
    lab.typed("sign-bitstreams", 1)
    lab.typed("sign-bitstreams", 2, trusted)
    assert "verify: dct slot 0" in lab.typed("sign-bitstreams", 3, trusted)


def test_sign_packages(lab: Lab) -> None:
    text = (BITSTREAMS / "applications" / "image_compression.yaml").read_text(encoding="utf-8")
    (lab.folder / "edges.yaml").write_text(text.replace("application: image_compression", "application: edges"))
    trusted = ("/etc/eddy/trusted-packages", str(lab.folder / "trusted"))
    (lab.folder / "trusted").mkdir()
    lab.typed("sign-packages", 0)
    lab.typed("sign-packages", 1)
    lab.typed("sign-packages", 2, trusted)
    assert lab.typist.served[0].packages.required
    lab.typed("sign-packages", 3, trusted)
    assert "edges" in lab.typist.type("eddy apps")


def test_sign_on_settings(lab: Lab) -> None:
    (lab.folder / "secret").write_text("s3cret")
    text = text_of("sign-on", 0).replace("/etc/eddy/oidc-secret", f"{lab.folder}/secret")
    told = yaml.safe_load(text)
    assert told["oidc_tenants"] == "students=class, ada-lab=ada"
    assert told["oidc_projects"] == "vision-lab=vision"
    from eddy.api.access.identity_provider import OidcSettings
    from eddy.settings import SETTINGS

    assert OidcSettings.read({**{name: each.default for name, each in SETTINGS.items()}, **told}).issuer


def test_jupyterhub(lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lab.typed("jupyterhub", 1, ("add ada", "add hubs-ada"), ("add class", "add hubs-class"))
    hub = lab.typist.served[0].api.hub
    assert (hub.api, hub.service) == ("http://127.0.0.1:8081/hub/api", "eddy")
    assert [hub.tenant("ada", ["students"]), hub.tenant("kim", ["students"]), hub.tenant("kim", [])] == [
        "ada",
        "class",
        "",
    ]
    for name in ("EDDY_URL", "EDDY_KEY"):
        monkeypatch.setenv(name, lab.typist.environment[name])
    exec(textwrap.dedent(text_of("jupyterhub", 2)), {})
    assert capsys.readouterr().out == "operator\n"


def test_first_job(lab: Lab) -> None:
    """On the model board: what the RTL computes is compared by the demonstration and by the walk outside the clone."""
    data, activate = ("/tmp/eddy", f"{lab.folder}/first"), (". .venv/bin/activate\n", "")
    lab.typed("first-job", 1, data, activate, ("--board rtl", "--board model"))
    lab.typed("first-job", 2, (f"{data[0]}/operator.key", str(lab.server.key_file)), activate, ("add ada", "add first"))
    assert "image_compression" in lab.typed("first-job", 3)
    (lab.folder / "out/demo").mkdir(parents=True)
    Image.new("L", (300, 200), 90).save(lab.folder / "out/demo/photograph.png")
    lab.typed("first-job", 4)
    assert {each.name for each in (lab.folder / "result").iterdir()} >= {"result.png", "result.npy", "levels.npy"}
    lab.program("first-job", 6)
    assert [each["state"] for each in lab.asked("jobs")["jobs"]] == ["succeeded"] * 2


def test_first_kernel(lab: Lab) -> None:
    """On the model board, which compiles and runs a kernel, and computes nothing."""
    data, activate = ("/tmp/eddy", f"{lab.folder}/first"), (". .venv/bin/activate\n", "")
    lab.typed("first-kernel", 0, data, activate, ("--board rtl", "--board model"))
    lab.typed(
        "first-kernel", 1, (f"{data[0]}/operator.key", str(lab.server.key_file)), activate, ("add kim", "add kern")
    )
    text = text_of("first-kernel", 8)
    source, _, rest = text.partition("\n")[2].partition("END\n")
    (lab.folder / "saxpy.cl").write_text(source)
    python = f"{sys.executable} -c"
    said = lab.typist.type(rest.replace("python -c", python))
    assert re.search(r"^\[ ?0\.", said, re.MULTILINE)
