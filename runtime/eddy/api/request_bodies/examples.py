# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Examples the OpenAPI page shows: one of each body, and of the answers people read first."""

from __future__ import annotations

from typing import Any

from eddy.core.submission_options import ECHOED

_PICTURE = "4fe7b59af6de3b665b67788cc2f99892ab827efae3a467342b3bb4e3bc8e5bfe"
"""sha256 of 16,384 zeros."""
_ARRAY = "5341e6b2646979a70e57653007a1f310169421ec9bdd9f1a5648f75ade005af1"
"""sha256 of 256 zeros."""

JOB_OF_APPLICATION: dict[str, Any] = {
    "application": "image_compression",
    "batch": 1,
    "priority": 3,
    "inputs": {"image": [_PICTURE]},
    "deadline_s": 2.5,
    "labels": {"series": "moon", "run": "7"},
    "retries": {"max": 2, "on": ["configuration-error", "clock-lost"]},
    "late": "end",
}
ARRAY_SUBMISSION: dict[str, Any] = {
    "job": {"application": "image_compression", "labels": {"series": "moon"}},
    "each": [{"inputs": {"image": [_PICTURE]}, "labels": {"run": str(run)}} for run in range(2)],
    "max_running": 1,
}
ARRAY: dict[str, Any] = {
    "id": 17,
    "tenant": "ada",
    "size": 2,
    "max_running": 1,
    "ended": False,
    "counts": {
        **dict.fromkeys(("queued", "placed", "reconfiguring", "preempted", "draining", "failed", "cancelled"), 0),
        "running": 1,
        "succeeded": 1,
    },
    "damaged": 0,
    "links": {"self": "/v1/arrays/17", "jobs": "/v1/jobs?array=17&sort=oldest"},
}
JOB_OF_KERNEL: dict[str, Any] = {
    "kernel": {
        "source": "kernel void scale(global float *y, float a) { y[get_global_id(0)] *= a; }",
        "kernel": "scale",
        "global_size": [64],
        "arguments": [{"buffer": _ARRAY, "dtype": "<f4", "shape": [64]}, {"value": 2.5}],
    }
}
APPLICATION: dict[str, Any] = {
    "application": "shift_only",
    "max_batch": 8,
    "goal_slots": 1,
    "buffers": {
        "image": {"role": "input", "dtype": "u1", "shape": [128, 128]},
        "shifted": {"role": "output", "dtype": "<i2", "shape": [256, 8, 8]},
    },
    "tasks": [
        {
            "name": "level_shift",
            "module": "level_shift",
            "arguments": {"in": "image", "out": "shifted", "width": 128, "height": 128},
            "estimate_us": 50,
            "time_limit_ms": 20,
        }
    ],
    "edges": [],
}
TENANT_SUBMISSION: dict[str, Any] = {"id": "ada", "quota": {"max_jobs": 8, "max_blob_bytes": 67108864}}
TENANT: dict[str, Any] = {
    "id": "ada",
    "admin": False,
    "quota": {
        "max_jobs": 8,
        "max_blob_bytes": 67108864,
        "max_priority": 9,
        "max_requests_per_s": None,
        "max_slot_s": 3600.0,
        "max_core_s": None,
        "max_leases": 2,
        "max_lease_s": 14400.0,
    },
    "display_name": "Ада",
    "attributes": {"display_name": "Ада"},
    "leaving": False,
}
KEY: dict[str, Any] = {
    "id": "k5c0ffee5c0ff",
    "tenant": "ada",
    "scope": "read",
    "label": "the lab's screen",
    "created_unix_s": 1767225600.25,
    "expires_unix_s": None,
    "revoked_unix_s": None,
    "valid": True,
}
JOB: dict[str, Any] = {
    "id": 17,
    "tenant": "ada",
    "kind": "application",
    "application": "image_compression",
    "batch": 1,
    "priority": 3,
    "state": "succeeded",
    "doing": "",
    "submitted_unix_s": 1767225600.25,
    "arrival_s": 0.0,
    "deadline_s": 2.5,
    "started_s": 0.0,
    "ended_s": 0.0153,
    "response_s": 0.0153,
    "waiting_s": 0.0,
    "waiting": {"dependency": 0.0, "slot": 0.0, "memory": 0.0, "preempted": 0.0, "maintenance": 0.0},
    "reconfiguring_s": 0.0144,
    "running_s": 0.0009,
    "reconfigurations": 3,
    "reuses": 0,
    "preemptions": 0,
    "progress": {"done": 1, "total": 1},
    "estimate": None,
    "error": None,
    "kernel": None,
    "outputs": {"result": "/v1/jobs/17/outputs/result"},
    "computed": True,
    "unchecked": [],
    "form": "",
    "labels": {"series": "moon", "run": "7"},
    "after": [],
    "afterany": [],
    "afternotok": [],
    "retries": {"max": 2, "on": ["configuration-error", "clock-lost"]},
    "retried": 0,
    **{name: option.default for name, option in ECHOED.items()},
    "late": "end",
    "slowdown": None,
    "cancellation": None,
    "ended_unix_s": 1767225600.5,
    "array": None,
    "links": {"self": "/v1/jobs/17", "events": "/v1/jobs/17/events"},
}
SUBSCRIPTION: dict[str, Any] = {
    "id": "n4be12c90f3d1",
    "tenant": "ada",
    "target": "https://hooks.example.org/eddy",
    "kinds": ["job.ended"],
    "everyone": False,
    "label": "results into the lab's chat",
    "created_unix_s": 1767225600.25,
    "off": "",
    "dropped": 0,
    "secret": "whsec_...",
}
DELIVERY: dict[str, Any] = {
    "id": "msg_6f1d2c3b4a5968778695a4b3",
    "kind": "job.ended",
    "body": {
        "type": "job.ended",
        "timestamp": "2026-01-01T00:00:00Z",
        "data": {"job": 17, "tenant": "ada", "state": "succeeded", "application": "image_compression", "cause": ""},
    },
    "created_unix_s": 1767225600.5,
    "state": "delivered",
    "attempts": 1,
    "next_unix_s": None,
    "tried_unix_s": 1767225601.0,
    "status": 204,
    "said": "",
}
WINDOW: dict[str, Any] = {
    "id": "w1f0c22ab",
    "title": "a new fan",
    "stage": "planned",
    "begins_unix_s": 1795000000.0,
    "ends_unix_s": 1795003600.0,
    "drains_unix_s": 1794999100.0,
    "slots": [],
}
EXPLAINED: dict[str, Any] = {
    "job": 17,
    "state": "succeeded",
    "at_s": 0.0212,
    "wait": None,
    "life_ns": 15300000,
    "spent": [{"cause": "reconfiguring", "ns": 14400000}, {"cause": "running", "ns": 900000}],
    "loads_ns": 14400000,
    "items_ns": 2700000,
    "preempted": [],
    "would_help": [{"what": "resident", "words": "its modules in the slots already", "saves_s": 0.0144}],
    "estimate": None,
    "words": ["It lived 15.3 ms: 14.4 ms while slots were loaded for it, 900 us with a loaded slot of its own."],
}
DRY_RUN: dict[str, Any] = {
    "admitted": True,
    "application": "image_compression",
    "batch": 4,
    "pool": "pipeline",
    "slot_seconds": 0.0261,
    "core_seconds": 0.0,
    "loads": [{"task": 0, "module": "dct", "slot": 2, "at_s": 0.0153, "load_s": 0.0048}],
    "estimate": {
        "at_s": 0.0153,
        "position": 1,
        "start_p50_s": 0.0153,
        "start_p90_s": 0.0201,
        "end_p50_s": 0.0369,
        "end_p90_s": 0.0412,
        "known": True,
    },
}
USAGE: dict[str, Any] = {
    "entries": [
        {"day": "2026-11-22", "tenant": "", "slot_ns": 44100000, "shared_ns": 14900000, "core_ns": 59600000},
        {"day": "2026-11-22", "tenant": "ada", "slot_ns": 15500000, "shared_ns": 0, "core_ns": 0},
    ],
    "board": {"from_ns": 0, "to_ns": 14900000, "slots": 5, "before_ns": 0},
}
HISTORY: dict[str, Any] = {
    "points": [
        {
            "unix_s": 1767225600,
            "slots": 4,
            "busy": 2.5,
            "running": 3.0,
            "waiting": 11.25,
            "ended": 42,
            "failed": 1,
            "prices": {"2": 0.37},
            "celsius": 41.5,
            "shares": {"ada": 1.75, "grace": 0.75},
        }
    ]
}
AUDIT: dict[str, Any] = {
    "entries": [
        {
            "seq": 17,
            "at_unix_s": 1767225600.25,
            "actor": "operator",
            "key": "k5c0ffee5c0ff",
            "action": "drain-slot",
            "facts": {"slot": 2, "because": "a new fan"},
            "chain": "5f" * 32,
        }
    ]
}
QUOTA: dict[str, Any] = {
    "tenant": "ada",
    "quota": TENANT["quota"],
    "weight": 1.0,
    "project": "vision",
    "jobs": 1,
    "blob_bytes": 16384,
    "slot_s": 0.0155,
    "core_s": 0.0,
}
BLOB: dict[str, Any] = {"sha256": _ARRAY, "bytes": 256}
SLOT: dict[str, Any] = {
    "slot": 0,
    "region": "slot0",
    "pool": "pipeline",
    "phase": "running",
    "since_s": 0.0144,
    "mine": True,
    "module": "dct",
    "tenant": "ada",
    "job": 17,
    "task": 1,
    "item": 0,
    "drained": False,
    "drained_because": "",
    "leased": False,
    "lease": None,
}
LEASE: dict[str, Any] = {
    "lease": "l5ad1a5cbca4f",
    "tenant": "ada",
    "kind": "slot",
    "state": "active",
    "slots": [2],
    "module": "dct",
    "lasts_s": 1800.0,
    "memory_bytes": 16777216,
    "memory_address": 1879048192,
    "asked_unix_s": 1795991870.1,
    "begins_unix_s": 1795991875.28,
    "ends_unix_s": 1795993675.28,
    "ended_unix_s": None,
    "position": 0,
    "expected_unix_s": None,
    "notice": "",
    "cause": "",
    "holds": {"2": "dct"},
    "loading": [],
    "said": "",
    "accesses": 42,
    "interrupts": 2,
    "bytes_moved": 32768,
    "idle_s": 0.5,
    "idle_limit_s": 600.0,
    "token": "t3d2f9a7c1e",
}
SESSION: dict[str, Any] = {
    "session": "s5ad1a5cbca4f0b3879da070f605d1686",
    "tenant": "ada",
    "state": "resident",
    "cause": "",
    "memory_bytes": 33554432,
    "idle_timeout_s": 600.0,
    "on_pressure": "spill",
    "out_of_order": False,
    "priority": 1,
    "lease_s": None,
    "opened_unix_s": 1795991875.28,
    "ended_unix_s": None,
    "buffers": 3,
    "buffer_bytes": 12582912,
    "queued": 0,
    "running": 1,
    "launches": 1200,
    "failures": 0,
    "bytes_up": 8388608,
    "bytes_down": 4194304,
    "bytes_kept": 15099494400,
    "core_seconds": 4.2,
    "idle_s": 0.03,
    "clusters": [
        {"module": "gpu_2c4w4t", "slots": 1, "cores": 2, "warps": 4, "threads": 4, "fpu": True, "local_bytes": 16384}
    ],
}
PROGRAM: dict[str, Any] = {
    "program": "0f3a5bb1d3a1fb6a7d1e7a55f2f6a3c1",
    "kernels": [
        {
            "name": "scale",
            "arguments": [
                {"name": "x", "type": "float*", "space": "global", "bytes": 4, "const": False},
                {"name": "by", "type": "float", "space": "value", "bytes": 4, "const": False},
            ],
            "group_size": [],
            "stack_bytes": 64,
        }
    ],
    "local_bytes": 0,
    "log": "",
}
OVERVIEW: dict[str, Any] = {
    "now_s": 0.0149,
    "ready": True,
    "detail": "",
    "viewer": "ada",
    "operator": False,
    "faults": {},
    "policy": "eddy",
    "slots": [SLOT],
    "counts": {"running": 1},
    "jobs": [],
    "ended": [JOB],
    "spans": [
        {
            "slot": 0,
            "kind": "load",
            "start_s": 0.0,
            "end_s": 0.0048,
            "tenant": "ada",
            "job": 17,
            "task": 1,
            "item": None,
            "ok": True,
        }
    ],
    "tenants": [],
    "sessions": [],
    "damaged": {},
}
APP: dict[str, Any] = {
    "name": "shift_only",
    "max_batch": 8,
    "goal_slots": 1,
    "tasks": [
        {
            "id": 0,
            "name": "level_shift",
            "module": "level_shift",
            "arguments": {"in": "image", "out": "shifted", "width": 128, "height": 128},
            "estimate_s": 5e-05,
            "time_limit_s": 0.02,
        }
    ],
    "edges": [],
    "buffers": [
        {"name": "image", "role": "input", "bytes": 16384, "dtype": "u1", "shape": [128, 128], "shipped": False},
        {"name": "shifted", "role": "output", "bytes": 32768, "dtype": "<i2", "shape": [256, 8, 8], "shipped": False},
    ],
    "fused": [],
    "refused": "",
}
EVENTS = """retry: 1000

id: 41
event: state
data: {"job":17,"what":"state","at_s":0.0153,"state":"succeeded"}

event: end
data: {}

"""
PROBLEM: dict[str, Any] = {
    "type": "/problems/invalid-request",
    "title": "The request is not valid",
    "status": 422,
    "code": "invalid-request",
    "detail": "priority: must be one of 1, 3, 9",
    "instance": "/v1/jobs",
    "field": "priority",
    "allowed": [1, 3, 9],
}
PROFILE: dict[str, Any] = {
    "kernels": [
        {
            "kernel": "scale",
            "cluster": {"module": "gpu_4c4w4t", "cores": 4, "warps": 4, "threads": 4, "clk_hz": 100e6},
            "launches": 1200,
            "core_seconds": 0.06,
            "shape": {"global_size": [1024], "local_size": [4], "lane_fill": 1.0, "core_warps": 4},
            "cycles": 6000000,
            "causes": {
                **{"issue": 2400000.0, "divergence": 0.0, "empty-lanes": 0.0, "memory": 2900000.0, "barrier": 0.0},
                **{"unit": 100000.0, "fetch": 50000.0, "pipeline": 500000.0, "other": 50000.0},
            },
            "roofline": {
                **{"operations_per_cycle": 1.6, "operations_per_byte": 1.2, "issue_bound": 4.0},
                **{"memory_bytes_per_cycle": 8.0, "memory_bound": 9.6, "bound_by": "issue"},
            },
            "advice": ["48% of its cycles: every warp waited for memory. Copy what is used often to local memory."],
        }
    ],
    "unknown": ["Source lines: cores count what they do by cause, not by instruction."],
}

PROJECT: dict[str, Any] = {"id": "vision", "share": 2.0, "members": ["ada", "grace"], "entitled": 0.4, "used": 0.31}
