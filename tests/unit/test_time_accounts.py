"""When the slots' time is written down, and up to when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eddy.hypervisor.lag_keeper import LagKeeper
from eddy.hypervisor.slot import MachineSlot
from eddy.hypervisor.time_accounts import ACCOUNT_S, TimeAccounts
from eddy.store import Store
from eddy.store.usage import ACCOUNTED


class Estimates:
    """Counts how often it is asked to keep itself."""

    kept = 0

    def keep(self) -> None:
        self.kept += 1


def test_time_is_charged_once_up_to_the_time_given(tmp_path: Path) -> None:
    store, wall, estimates = Store(tmp_path / "eddy.sqlite3"), [10.0], Estimates()
    asked: Any = estimates
    accounts = TimeAccounts(store.usage, store.epochs, asked, None, LagKeeper(store), lambda: wall[0])
    slot = MachineSlot(3, 0.5)
    slot.meter.begin(0, "ada")
    assert accounts.due, "from the beginning"
    accounts.write(2.0, [slot])
    assert not accounts.due
    wall[0] += ACCOUNT_S
    assert accounts.due
    accounts.write(5.0, [slot])
    (row,) = store.usage.rows(None)
    assert (row.tenant, row.slot, row.unit, row.spent_ns) == ("ada", 3, "slot", 5_000_000_000)
    assert store.meta(ACCOUNTED) == "5000000000"
    accounts.write(5.0, [slot])
    assert [each.spent_ns for each in store.usage.rows(None)] == [5_000_000_000], "no time has passed"
    assert estimates.kept == 3
    store.close()
