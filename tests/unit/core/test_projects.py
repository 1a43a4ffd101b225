# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants are entitled to: projects' shares, members' weights, and past use."""

from __future__ import annotations

import pytest
from eddy.core.projects import MIN_LEFT, Project, effective_weights

VISION, CHIPS = Project("vision", 3.0, ("ada", "bob")), Project("chips", 1.0, ("eve",))
PROJECT_OF = {tenant: project for project in (VISION, CHIPS) for tenant in project.members}
EQUAL = {"ada": 1.0, "bob": 1.0, "eve": 1.0}


def parts(weights: dict[str, float]) -> dict[str, float]:
    return {tenant: weight / sum(weights.values()) for tenant, weight in weights.items()}


def test_without_projects_and_past_use_weights_are_the_tenants_own() -> None:
    own = {"ada": 0.1, "bob": 0.7}
    assert effective_weights(own, {}, {}) == own
    assert effective_weights(own, {"eve": CHIPS}, {}) == own, "a project nobody of which has work"


def test_a_project_s_share_is_divided_among_its_members_by_weight() -> None:
    own = {"ada": 1.0, "bob": 2.0, "eve": 5.0}
    found = effective_weights(own, PROJECT_OF, {})
    assert parts(found) == pytest.approx({"ada": 0.25, "bob": 0.5, "eve": 0.25})
    assert sum(found.values()) == pytest.approx(sum(own.values())), "as fast as without projects"


def test_what_a_member_without_work_leaves_is_its_fellows() -> None:
    assert parts(effective_weights({"bob": 1.0, "eve": 1.0}, PROJECT_OF, {})) == pytest.approx(
        {"bob": 0.75, "eve": 0.25}
    )


def test_a_tenant_without_a_project_stands_beside_projects_with_its_own_weight() -> None:
    found = effective_weights({"ada": 1.0, "bob": 1.0, "joe": 6.0}, PROJECT_OF, {})
    assert parts(found) == pytest.approx({"ada": 1 / 6, "bob": 1 / 6, "joe": 2 / 3})


def test_who_had_just_what_it_was_entitled_to_is_entitled_to_it_still() -> None:
    used = {"ada": 0.375, "bob": 0.375, "eve": 0.25}
    assert parts(effective_weights(EQUAL, PROJECT_OF, used)) == pytest.approx(
        parts(effective_weights(EQUAL, PROJECT_OF, {}))
    )


def test_past_use_halves_a_weight_for_each_time_what_it_was_entitled_to() -> None:
    """2 ** -(U / S), of the whole project, those of it that have no work now included."""
    own, project_of = {"bob": 1.0, "joe": 3.0}, {"ada": VISION, "bob": VISION}
    for used, left in ((0.5, 0.5), (1.0, 0.25)):
        found = effective_weights(own, project_of, {"ada": used})
        assert found["bob"] / found["joe"] == pytest.approx(left)


def test_a_member_that_used_most_has_less_of_the_projects_part() -> None:
    found = effective_weights(EQUAL, PROJECT_OF, {"ada": 0.375})
    assert found["ada"] / found["bob"] == pytest.approx(0.5)
    assert (found["ada"] + found["bob"]) / found["eve"] == pytest.approx(3 * 0.5**0.5)


def test_nobody_is_left_without_anything() -> None:
    own = {f"t{number}": 1.0 for number in range(50)}
    found = effective_weights(own, {}, {"t0": 1.0})
    assert found["t0"] / found["t1"] == pytest.approx(MIN_LEFT)


@pytest.mark.parametrize("used", [{}, {"ada": 0.5}])
def test_nobody_with_work_is_entitled_to_nothing(used: dict[str, float]) -> None:
    assert effective_weights({}, {}, used) == {}
    assert effective_weights({}, PROJECT_OF, used) == {}


def test_a_project_is_told_from_a_tenant_of_its_name_and_from_others_by_its_own() -> None:
    class Members(tuple[str, ...]):
        def __hash__(self) -> int:
            raise AssertionError("every member is looked at for each tenant")

    project = Project("joe", 3.0, Members(("ada", "bob")))
    found = effective_weights({"ada": 1.0, "bob": 1.0, "joe": 1.0}, {"ada": project, "bob": project}, {})
    assert parts(found) == pytest.approx({"ada": 0.375, "bob": 0.375, "joe": 0.25})
