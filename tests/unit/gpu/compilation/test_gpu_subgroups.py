# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Subgroups (`cl_khr_subgroups` and its fellows): a warp's items, also where lanes take several or part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import InvalidRequest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import IsaExecutor, RtlExecutor
from unit.gpu_kit import SHAPES, build_quickly, cluster, compiled
from unit.subgroup_programs import FORMS

Ids = npt.NDArray[Any]
WIDE = ClusterShape(1, 2, 16)
TYPES = {"int": "i4", "uint": "u4", "long": "i8", "ulong": "u8", "float": "f4"}
PLACES = """kernel void places(global uint *out) {
  uint i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  out[i * 5] = get_sub_group_id();
  out[i * 5 + 1] = get_sub_group_local_id();
  out[i * 5 + 2] = get_sub_group_size();
  out[i * 5 + 3] = get_num_sub_groups() + 100 * get_enqueued_num_sub_groups();
  out[i * 5 + 4] = get_max_sub_group_size();
}"""
OVER_ALL = "\n".join(
    f"""kernel void over_{t}(global {t} *out, global const {t} *in) {{
  size_t i = get_global_id(0), at = i * 12; {t} x = in[i];
  out[at] = sub_group_reduce_add(x); out[at + 1] = sub_group_reduce_min(x); out[at + 2] = sub_group_reduce_max(x);
  out[at + 3] = sub_group_scan_inclusive_add(x);
  out[at + 4] = sub_group_scan_inclusive_min(x);
  out[at + 5] = sub_group_scan_inclusive_max(x); out[at + 6] = sub_group_scan_exclusive_add(x);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[at + 7] = sub_group_scan_exclusive_min(x); out[at + 8] = sub_group_scan_exclusive_max(x);
  out[at + 9] = sub_group_broadcast(x, get_sub_group_size() - 1);
  out[at + 10] = sub_group_all(x > 3); out[at + 11] = sub_group_any(x > 3);
}}"""
    for t in TYPES
)
READS = """kernel void reads(global int *out, global const int *in, uint by) {
  size_t i = get_global_id(0), at = i * 9; int x = in[i];
  uint size = get_sub_group_size(), me = get_sub_group_local_id(); uint4 odd = sub_group_ballot(x & 1);
  out[at] = sub_group_shuffle(x, (me + by) % size);
  out[at + 1] = sub_group_shuffle_xor(x, 1);
  out[at + 2] = sub_group_shuffle_up(x, by);
  out[at + 3] = sub_group_shuffle_down((long)x << 20, by) >> 20;
  out[at + 4] = odd.x;
  out[at + 5] = sub_group_ballot_bit_count(odd) + 100 * sub_group_ballot_exclusive_scan(odd);
  out[at + 6] = sub_group_elect() + 10 * sub_group_non_uniform_all_equal(x >> 31);
  out[at + 7] = intel_sub_group_shuffle_down(x, -x, by) ;
  out[at + 8] = get_sub_group_lt_mask().x + get_sub_group_eq_mask().x + get_sub_group_gt_mask().x;
}"""
OTHERS = """kernel void others(global int *out, global const int *in, global int *kept) {
  size_t i = get_global_id(0); int x = in[i]; uint n = get_sub_group_size(), me = get_sub_group_local_id();
  uint4 odd = sub_group_ballot(x & 1), ge = get_sub_group_ge_mask(), le = get_sub_group_le_mask(); out += 13 * i;
  kept[i] = x;
  sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
  out[0] = kept[i - me + (me + 1) % n];
  out[1] = sub_group_non_uniform_all(x > -100) + 2 * sub_group_non_uniform_any(x > 90);
  out[2] = sub_group_non_uniform_broadcast(x, n - 1); out[3] = sub_group_broadcast_first(x);
  out[4] = sub_group_inverse_ballot(odd); out[5] = sub_group_ballot_bit_extract(odd, n - 1);
  out[6] = sub_group_ballot_inclusive_scan(odd);
  out[7] = odd.x ? sub_group_ballot_find_lsb(odd) + 100 * sub_group_ballot_find_msb(odd) : 0;
  out[8] = ge.x | le.x; out[9] = ge.x & le.x;
  out[10] = intel_sub_group_shuffle(x, n - 1 - me); out[11] = me < (n & ~1u) ? 0 : 1;
  int other = intel_sub_group_shuffle_xor(x, 1), before = intel_sub_group_shuffle_up(x, x, 1);
  out[11] = out[11] ? x : other; out[12] = me ? before : x;
}"""
PARTED = """int odd(int x) { return popcount(sub_group_ballot(1).x) * x; }
kernel void parted(global int *out, global const int *in, uint n) {
  local int seen[1]; size_t i = get_global_id(0); int x = in[i], y = 0;
  if (i >= n) { out[i] = -1; return; }
  for (int k = 0; k < (x & 7); k++) y += popcount(sub_group_ballot(1).x);
  if (x & 1) y += odd(1000); else if (x & 2) { y += 1000000 * popcount(sub_group_ballot(1).x); }
  out[i] = y;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = sub_group_reduce_add(y) - y;
}"""


def parts(items: int, group: int, shape: ClusterShape) -> Iterator[Ids]:
    """Linear ids of each subgroup's items."""
    for first in range(0, items, group):
        for at in range(first, first + group, shape.threads):
            yield np.arange(at, min(at + shape.threads, first + group))


@pytest.mark.parametrize("shape", [SHAPES[1], SHAPES[3], WIDE], ids=lambda s: s.name)
@pytest.mark.parametrize(
    ("size", "group"), [((210,), (105,)), ((512,), (256,)), ((12, 6, 2), (6, 3, 2)), ((24, 4), None)]
)
def test_items_know_their_place(shape: ClusterShape, size: tuple[int, ...], group: tuple[int, ...] | None) -> None:
    x, y, z = (*size, 1, 1)[:3]
    out = np.zeros((z, y, x, 5), "u4")
    launch(cluster(shape), compiled(PLACES), "places", size, [out], local_size=group)
    if group is None:
        assert (out[..., 1] < out[..., 2]).all()
        assert (out[..., 2] <= shape.threads).all()
        return
    gx, gy, gz = (*group, 1, 1)[:3]
    k, j, i = np.indices((z, y, x))
    linear, items = i % gx + gx * (j % gy + gy * (k % gz)), gx * gy * gz
    t, count = shape.threads, -(-items // shape.threads)
    told = [linear // t, linear % t, np.minimum(t, items - linear // t * t), 101 * count + 0 * i, t + 0 * i]
    np.testing.assert_array_equal(out, np.stack(told, -1))


@pytest.mark.parametrize(("shape", "items", "group"), [(SHAPES[1], 64, 16), (SHAPES[3], 42, 21), (WIDE, 200, 100)])
@pytest.mark.parametrize("name", TYPES)
def test_sums_least_and_greatest(shape: ClusterShape, items: int, group: int, name: str) -> None:
    kind = np.dtype(TYPES[name])
    x = np.random.default_rng(3).integers(0, 9, items).astype(kind) * kind.type(3)
    if kind.kind != "u":
        x -= kind.type(9)
    least, most = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    out = np.zeros((items, 12), kind)
    launch(cluster(shape), compiled(OVER_ALL), f"over_{name}", (items,), [out, x], local_size=(group,))
    for ids in parts(items, group, shape):
        v, scans = x[ids], []
        for apply, first in ((np.add, 0), (np.minimum, most), (np.maximum, least)):
            inclusive = apply.accumulate(v).astype(kind)
            scans.append((inclusive, np.concatenate([np.array([first], kind), inclusive[:-1]])))
        whole = [np.full(len(v), inclusive[-1]) for inclusive, _ in scans]
        rest = [np.full(len(v), value) for value in (v[-1], (v > 3).all(), (v > 3).any())]
        told = [*whole, *(inclusive for inclusive, _ in scans), *(exclusive for _, exclusive in scans), *rest]
        np.testing.assert_array_equal(out[ids], np.stack(told, -1).astype(kind))


def read_wanted(v: Ids, by: int, most: int) -> Ids:
    """What an item reads of the others, -1 where the standard leaves it open."""
    n, me = len(v), np.arange(len(v))
    odd = int(((v & 1) << me).sum())
    at = [me ^ 1, me - by, me + by]
    xor, up, down = (np.where((a >= 0) & (a < n), v[a % n], -1) for a in at)
    before = np.array([(odd & ((1 << k) - 1)).bit_count() for k in me])
    elect = (me == 0) + 10 * bool((v < 0).all() or (v >= 0).all())
    pair = np.where(me + by < n, v[(me + by) % n], np.where((n == most) & (me + by - n < n), -v[(me + by) % n], -1))
    told = [v[(me + by) % n], xor, up, down, 0 * me + odd, odd.bit_count() + 100 * before, elect, pair]
    return np.stack([*told, 0 * me + (1 << n) - 1], -1)


@pytest.mark.parametrize(("shape", "items", "group"), [(SHAPES[1], 64, 16), (SHAPES[2], 40, 20), (WIDE, 200, 100)])
@pytest.mark.parametrize("by", [1, 3])
def test_items_read_each_other(shape: ClusterShape, items: int, group: int, by: int) -> None:
    x = np.random.default_rng(by).integers(-99, 99, items).astype("i4")
    out = np.zeros((items, 9), "i4")
    launch(cluster(shape), compiled(READS), "reads", (items,), [out, x, by], local_size=(group,))
    for ids in parts(items, group, shape):
        wanted = read_wanted(x[ids], by, shape.threads)
        np.testing.assert_array_equal(np.where(wanted == -1, -1, out[ids]), wanted)


@pytest.mark.parametrize(("shape", "items", "group"), [(SHAPES[1], 64, 16), (WIDE, 200, 100)])
def test_votes_masks_and_other_names(shape: ClusterShape, items: int, group: int) -> None:
    x = np.random.default_rng(6).integers(-99, 99, items).astype("i4")
    out = np.zeros((items, 13), "i4")
    launch(cluster(shape), compiled(OTHERS), "others", (items,), [out, x, np.zeros_like(x)], local_size=(group,))
    for ids in parts(items, group, shape):
        v, n, me = x[ids], len(ids), np.arange(len(ids))
        odd, bits = v & 1, int(((v & 1) << me).sum())
        told = [
            np.roll(v, -1),
            0 * me + 1 + 2 * bool((v > 90).any()),
            0 * me + v[-1],
            0 * me + v[0],
            odd,
            0 * me + odd[-1],
        ]
        ends = (bits & -bits).bit_length() - 1 + 100 * (bits.bit_length() - 1) if bits else 0
        told += [np.cumsum(odd), 0 * me + ends, 0 * me + (1 << n) - 1, 1 << me, v[::-1]]
        told += [np.where(me ^ 1 < n, v[np.minimum(me ^ 1, n - 1)], v), np.where(me > 0, np.roll(v, 1), v)]
        np.testing.assert_array_equal(out[ids], np.stack(told, -1))


def parted_wanted(x: Ids, n: int, ids: Ids) -> Ids:
    """By hand: who is in a round or branch with an item; returned items take no part."""
    here = ids[ids < n]
    v = x[here]
    rounds = [int(((v & 7) > k).sum()) for k in range(7)]
    y = np.array([sum(rounds[: a & 7]) for a in v], int)
    odd, two = (v & 1) != 0, ((v & 1) == 0) & ((v & 2) != 0)
    y += np.where(odd, 1000 * odd.sum(), np.where(two, 1000000 * two.sum(), 0))
    return np.concatenate([y.sum() - y, np.full(len(ids) - len(here), -1)])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("shape", [SHAPES[1], SHAPES[3], WIDE], ids=lambda s: s.name)
@pytest.mark.parametrize(("group", "n"), [(8, 61), (32, 39), (64, 50)])
def test_lanes_that_part_meet_those_of_their_branch(shape: ClusterShape, group: int, n: int, seed: int) -> None:
    """Loops of different lengths, branches, functions, early returns; whatever order the lanes go in."""
    x, out = np.random.default_rng(seed).integers(0, 1 << 20, 64).astype("i4"), np.zeros(64, "i4")
    launch(cluster(shape, seed=seed), compiled(PARTED), "parted", (64,), [out, x, n], local_size=(group,))
    wanted = [parted_wanted(x, n, ids) for ids in parts(64, group, shape)]
    np.testing.assert_array_equal(out, np.concatenate(wanted))


@pytest.mark.parametrize("group", [8, 16, 32])
@pytest.mark.parametrize("seed", range(3))
def test_lanes_that_take_several_items_go_from_turn_to_turn_together(group: int, seed: int) -> None:
    """A lane whose item ends early waits with its next one for the others, whose items take longer."""
    source = compiled("""kernel void early(global int *out, global const int *in) {
      size_t i = get_global_id(0); int y = 0;
      if (in[i] < 2) { out[i] = -1; return; }
      int here = sub_group_ballot(1).x;
      for (int k = 0; k < in[i]; k++) y += in[(i + k) % 64] >> 8;
      out[i] = here + y;
    }""")
    x = np.random.default_rng(seed).integers(0, 9, 64).astype("i4")
    out = np.zeros(64, "i4")
    launch(cluster(ClusterShape(1, 2, 4)), source, "early", (64,), [out, x], local_size=(group,))
    stays = (x >= 2).reshape(-1, 4)
    masks = np.repeat((stays << np.arange(4)).sum(1), 4)
    np.testing.assert_array_equal(out, np.where(x >= 2, masks, -1))


def test_a_size_that_the_source_requires_is_the_warps_or_refused() -> None:
    source = PLACES.replace("kernel", "__attribute__((intel_reqd_sub_group_size(16))) kernel", 1)
    out = np.zeros((16, 5), "u4")
    launch(cluster(WIDE), compiled(source), "places", (16,), [out])
    assert out[:, 1].tolist() == list(range(16))
    with pytest.raises(InvalidRequest, match="requires subgroups of 16 work-items; a warp of this cluster has 4"):
        launch(cluster(SHAPES[1]), compiled(source), "places", (16,), [out])


@pytest.mark.rtl
def test_the_cores_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    build_quickly(monkeypatch)
    shape = ClusterShape(1, 2, 2, fpu=False)
    x = np.random.default_rng(5).integers(0, 1 << 20, 24).astype("i4")
    found = []
    for executor in (IsaExecutor(shape), RtlExecutor(shape)):
        parted, reads, forms = np.zeros(24, "i4"), np.zeros((24, 9), "i4"), np.zeros((24, 8), "i4")
        launch(executor, compiled(PARTED, fpu=False), "parted", (24,), [parted, x, 19], local_size=(12,))
        launch(executor, compiled(READS, fpu=False), "reads", (24,), [reads, x, 1], local_size=(6,))
        launch(executor, compiled(FORMS, fpu=False), "forms", (24,), [forms, x % 4], local_size=(6,))
        found.append((parted, reads, forms))
    np.testing.assert_array_equal(found[1][0], np.concatenate([parted_wanted(x, 19, p) for p in parts(24, 12, shape)]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
