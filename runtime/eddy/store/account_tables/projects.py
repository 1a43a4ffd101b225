# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Projects: tenants that share a part of the board. Few rows; each decision asks for them, so all are in memory too."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Collection, Iterable, Mapping

from eddy.core.errors import Conflict, NotFound
from eddy.core.projects import Project, effective_weights
from eddy.core.tenants import MAX_WEIGHT, MIN_WEIGHT
from eddy.store.account_tables.tenants import Tenants
from eddy.store.account_tables.usage import Usage
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types


class Projects:
    """All projects, and what tenants are entitled to.

    Args:
        tenants: Who may be in them, and their weights.

    Attributes:
        damaged: Names of those whose records cannot be read; their tenants are without a project until they are added
            again.
    """

    def __init__(self, db: Database, tenants: Tenants, usage: Usage) -> None:
        self._db, self._tenants, self._usage = db, tenants, usage
        members = db.rows("SELECT * FROM member")
        of = dict(db.damage.read_rows(RecordKind.PROJECT, members, lambda row: repr(row["tenant"]), member_from_row))
        rows = db.rows("SELECT * FROM project")
        found = tuple(db.damage.read_rows(RecordKind.PROJECT, rows, _name, project_from_row))
        self.damaged = {_name(row) for row in rows} - {each.id for each in found}
        self._known: Mapping[str, Project] = {}
        self._project_of: Mapping[str, Project] = {}
        self._learn([dataclasses.replace(each, members=_members(of, each.id)) for each in found])

    def all(self) -> tuple[Project, ...]:
        """Every project, by name."""
        return tuple(self._known[name] for name in sorted(self._known))

    def get(self, name: str) -> Project:
        """A project by its name.

        Raises:
            NotFound: There is none.
            RecordDamaged: Its record cannot be read.
        """
        if name in self.damaged:
            raise self._db.damage.note(RecordKind.PROJECT, name, "its record could not be read at the start")
        found = self._known.get(name)
        if found is None:
            message = f"There is no project {name!r:.80}: `eddy project list` lists them."
            raise NotFound(message, field="project", asked=name)
        return found

    def of(self, tenant: str) -> str:
        """Name of a tenant's project; "" for none."""
        found = self._project_of.get(tenant)
        return "" if found is None else found.id

    def members(self, name: str) -> tuple[str, ...]:
        """Tenants of a project; none where there is no such project."""
        found = self._known.get(name)
        return () if found is None else found.members

    def check(self, project: Project) -> None:
        """Check that a project may have the tenants it has.

        Raises:
            NotFound: One of its tenants is not there.
            Conflict: One is in another project, or is being removed.
        """
        for tenant in project.members:
            self._tenants.get(tenant)
            self._tenants.check_name_reusable(tenant)
            if self.of(tenant) not in ("", project.id):
                message = f"Tenant {tenant} is in project {self.of(tenant)}: take it out there first."
                raise Conflict(message, field="members", asked=tenant)

    def put(self, project: Project) -> None:
        """Add a project, or replace what is known of it and who is in it.

        Raises:
            NotFound, Conflict: As `check` does.
        """
        with self._db.transaction() as db:
            self.check(project)
            kept = dataclasses.replace(project, members=tuple(sorted(set(project.members))))
            db.execute("INSERT OR REPLACE INTO project (id, share) VALUES (?, ?)", (kept.id, kept.share))
            db.execute("DELETE FROM member WHERE project = ?", (kept.id,))
            # Who was in a project whose record was damaged may be in this one now.
            rows = [(tenant, kept.id) for tenant in kept.members]
            db.executemany("INSERT OR REPLACE INTO member (tenant, project) VALUES (?, ?)", rows)
            self._db.after_commit(lambda: self._changed(kept))

    def remove(self, name: str) -> None:
        """Forget a project; its tenants are without one.

        Raises:
            NotFound: There is none.
        """
        if name not in self.damaged:
            self.get(name)
        with self._db.transaction() as db:
            db.execute("DELETE FROM project WHERE id = ?", (name,))
            db.execute("DELETE FROM member WHERE project = ?", (name,))
            self._db.after_commit(lambda: self._forget(name))

    def take_out(self, db: sqlite3.Connection, tenant: str) -> None:
        """Let a tenant be in no project, in a transaction."""
        db.execute("DELETE FROM member WHERE tenant = ?", (tenant,))
        found = self._project_of.get(tenant)
        if found is not None:
            left = dataclasses.replace(found, members=tuple(each for each in found.members if each != tenant))
            self._db.after_commit(lambda: self._changed(left))

    def weights(self, tenants: Collection[str]) -> Mapping[str, float]:
        """What tenants are entitled to that have work now, relative to each other; for `Machine.weights_of`."""
        own = {tenant: self._tenants.weight(tenant) for tenant in tenants}
        return effective_weights(own, self._project_of, self._usage.decayed())

    def _changed(self, project: Project) -> None:
        self._mend(project.id)
        self._learn([*(each for each in self._known.values() if each.id != project.id), project])

    def _forget(self, name: str) -> None:
        self._mend(name)
        self._learn([each for each in self._known.values() if each.id != name])

    def _mend(self, name: str) -> None:
        self.damaged.discard(name)
        self._db.damage.mark_repaired(RecordKind.PROJECT, name)

    def _learn(self, projects: Iterable[Project]) -> None:
        """New mappings: others read the old ones."""
        self._known = {each.id: each for each in projects}
        self._project_of = {tenant: each for each in self._known.values() for tenant in each.members}


def _members(project_of: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(sorted(tenant for tenant, project in project_of.items() if project == name))


def _name(row: sqlite3.Row) -> str:
    return row["id"] if isinstance(row["id"], str) else repr(row["id"])


@names_damage("a project's row")
def project_from_row(row: sqlite3.Row) -> Project:
    """A project from its row, without its tenants.

    Raises:
        RecordDamaged: It is not what was written.
    """
    found = check_types(Project(row["id"], row["share"]))
    if not MIN_WEIGHT <= found.share <= MAX_WEIGHT:
        raise ValueError(f"the share is {found.share}")
    return found


@names_damage("a member of a project")
def member_from_row(row: sqlite3.Row) -> tuple[str, str]:
    """A tenant and its project, from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    if not isinstance(row["tenant"], str) or not isinstance(row["project"], str):
        raise TypeError(f"tenant {row['tenant']!r:.40} is in project {row['project']!r:.40}")
    return row["tenant"], row["project"]
