"""What comes in over HTTP: request bodies, strict, with unknown fields refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model, field_validator
from pydantic_core import PydanticCustomError

from eddy.api import examples
from eddy.api.kinds import KindView
from eddy.api.numbers import Whole, whole
from eddy.core.asked import (
    ITS_OWN,
    LABEL_NAME,
    LABEL_VALUE,
    MAX_AFTER,
    MAX_LABELS,
    MAX_RETRIES,
    NO_RETRIES,
    NOT_ITS_FAULT,
    Asked,
    Retries,
)
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import PRIORITIES
from eddy.core.records import JobRequest
from eddy.core.tenants import LEAST_WEIGHT, MOST_WEIGHT, Quota
from eddy.packages.applications import DTYPES, MAX_BUFFER_BYTES
from eddy.store.numbers import Numbers

SHA256 = r"^[0-9a-f]{64}$"
NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
IDEMPOTENCY_KEY = r"^[!-~]{1,128}$"
_MAX_ITEMS = 1 << 20
_MAX_SECONDS = 1e9

Digest = Annotated[str, Field(pattern=SHA256, description="sha256 of a blob, 64 lower-case hex digits.")]


def _priority(value: int) -> int:
    if value not in PRIORITIES:
        text = ", ".join(map(str, PRIORITIES))
        raise PydanticCustomError("one_of", f"must be one of {text}", {"allowed": list(PRIORITIES)})
    return value


Labels = Annotated[
    dict[Annotated[str, Field(pattern=LABEL_NAME)], Annotated[str, Field(pattern=LABEL_VALUE)]],
    Field(max_length=MAX_LABELS),
]
Priority = Annotated[Whole, AfterValidator(_priority), Field(json_schema_extra={"enum": list(PRIORITIES)})]
Sizes = Annotated[list[Annotated[Whole, Field(ge=0, le=1 << 31)]], Field(min_length=1, max_length=3)]


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Attributes whose `weight`, if there is one, is a weight: one that would count as 1 is no answer."""
    weight = value.get("weight", 1.0)
    number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not number or not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        text = f"has a weight of {weight!r}; it must be a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        raise PydanticCustomError("weight", "{text}", {"text": text, "ge": LEAST_WEIGHT, "le": MOST_WEIGHT})
    return value


Attributes = Annotated[dict[str, Any], AfterValidator(_attributes), Field(max_length=32)]


def _shown(name: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """The JSON schema of one form of an argument."""
    return {"type": "object", "title": name, "properties": properties, "required": required,
            "additionalProperties": False}  # fmt: skip


_NUMBER = {"type": "number"}
_ARGUMENT_SCHEMA: dict[str, Any] = {
    "description": "One argument of a kernel.",
    "oneOf": [
        _shown(
            "Array",
            {
                "buffer": {"type": "string", "pattern": SHA256, "description": "sha256 of its bytes, in C order."},
                "dtype": {"type": "string", "pattern": "^[<|][iuf][1248]$", "description": "numpy's name."},
                "shape": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": (1 << 31) - 1},
                    "maxItems": 8,
                    "description": "Its shape.",
                },
            },
            ["buffer", "dtype", "shape"],
        ),
        _shown(
            "Value",
            {
                "value": {
                    "description": "A number, or the numbers of a vector.",
                    "anyOf": [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1, "maxItems": 16}],
                }
            },
            ["value"],
        ),
        _shown(
            "Local",
            {"local": {"type": "integer", "minimum": 1, "maximum": 1 << 31, "description": "Bytes of local memory."}},
            ["local"],
        ),
        _shown(
            "Record",
            {
                "bytes": {
                    "type": "string",
                    "maxLength": 8192,
                    "pattern": "^[A-Za-z0-9+/]*={0,2}$",
                    "description": "A structure by value: its bytes in base 64.",
                }
            },
            ["bytes"],
        ),
        _shown("Null", {"null": {"type": "boolean", "enum": [True], "description": "A null pointer."}}, ["null"]),
        _shown(
            "Same",
            {
                "argument": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 63,
                    "description": "Place of an earlier argument, whose array this is too.",
                }
            },
            ["argument"],
        ),
    ],
}


def _whole_argument(value: dict[str, Any]) -> dict[str, Any]:
    """An argument whose whole numbers are integers; that of `value` is the kernel's affair."""
    found = {name: value[name] if name == "value" else whole(value[name]) for name in value}
    if isinstance(found.get("shape"), list):
        found["shape"] = [whole(length) for length in found["shape"]]
    return found


Argument = Annotated[dict[str, Any], AfterValidator(_whole_argument), WithJsonSchema(_ARGUMENT_SCHEMA)]


class Request(BaseModel):
    """Base of bodies: no unknown fields, no coercion between types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class KernelSubmission(Request):
    """An OpenCL C kernel over an ND-range; docs/reference/opencl.md has the language."""

    source: str = Field(min_length=1, description="OpenCL C.")
    kernel: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="Name of the kernel.")
    defines: dict[str, str] = Field(default_factory=dict, max_length=256, description="Macros, name to text.")
    includes: dict[str, str] = Field(
        default_factory=dict, max_length=64, description="Headers, by the names the source includes them by."
    )
    options: str = Field(
        default="",
        max_length=4096,
        description="Build options as `clBuildProgram` takes them: `-D`, `-I`, `-w`, `-Werror`, `-cl-...`.",
    )
    global_size: Sizes = Field(description="Work-items by dimension.")
    local_size: Sizes | None = Field(default=None, description="Work-group size; null for what suits the cluster.")
    offset: Sizes | None = Field(default=None, description="What `get_global_id` counts from; null for zeros.")
    arguments: list[Argument] = Field(
        default_factory=list,
        max_length=64,
        description='In the kernel\'s order: `{"buffer": sha256, "dtype": "<f4", "shape": [n]}`, `{"value": number}`, '
        '`{"value": [numbers]}` for a vector, `{"bytes": base64}` for a structure, '
        '`{"local": bytes}`, `{"null": true}`, `{"argument": place}` for the '
        "array of an earlier one.",
    )


class RetrySubmission(Request):
    """How often a job that failed is tried again, and after which causes."""

    max: Whole = Field(ge=1, le=MAX_RETRIES, description="Times.")
    on: list[Annotated[str, Field(json_schema_extra={"enum": [*NOT_ITS_FAULT, *ITS_OWN]})]] = Field(
        default=list(NOT_ITS_FAULT),
        min_length=1,
        max_length=len(NOT_ITS_FAULT + ITS_OWN),
        description="Causes after which it is; without this, those that it has no part in.",
    )

    @field_validator("on")
    @classmethod
    def _known(cls, causes: list[str]) -> list[str]:
        allowed = [*NOT_ITS_FAULT, *ITS_OWN]
        if not set(causes) <= set(allowed):
            raise PydanticCustomError("one_of", f"must be some of {', '.join(allowed)}", {"allowed": allowed})
        return causes

    @property
    def value(self) -> Retries:
        """As jobs have it."""
        return Retries(self.max, tuple(dict.fromkeys(self.on)))


class JobSubmission(Request):
    """Run an application over a batch, or a kernel over an ND-range: exactly one of `application` and `kernel`."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.JOB_OF_APPLICATION, examples.JOB_OF_KERNEL]})

    application: str | None = Field(
        default=None, min_length=1, max_length=64, description="Name of the application; `GET /v1/apps` lists them."
    )
    kernel: KernelSubmission | None = Field(default=None, description="A kernel, instead of `application`.")
    batch: Whole = Field(default=1, ge=1, le=_MAX_ITEMS, description="Number of items.")
    priority: Priority = Field(default=PRIORITIES[0], description="Higher comes first.")
    inputs: dict[str, Annotated[list[Digest], Field(min_length=1, max_length=_MAX_ITEMS)]] = Field(
        default_factory=dict,
        description="Input buffer to the blobs that fill it: one for each item, or one with all items end to end.",
    )
    constants: dict[str, Digest] = Field(default_factory=dict, description="Constant buffer to its blob.")
    deadline_s: float | None = Field(
        default=None,
        gt=0,
        le=_MAX_SECONDS,
        allow_inf_nan=False,
        description="Board seconds after arrival by which it should end; null for none.",
    )
    time_limit_s: float | None = Field(
        default=None,
        gt=0,
        le=_MAX_SECONDS,
        allow_inf_nan=False,
        description="Board seconds a slice of a kernel may take; null for what the server allows.",
    )
    labels: Labels = Field(default_factory=dict, description="Name to value, for people and for `GET /v1/jobs`.")

    after: list[Annotated[Whole, Field(ge=1, le=(1 << 63) - 1)]] = Field(
        default_factory=list,
        max_length=MAX_AFTER,
        description="Jobs of yours that must succeed first; where one does not, this one fails (`dependency-failed`).",
    )

    retries: RetrySubmission | None = Field(
        default=None, description="Whether it is tried again where it fails; null for not."
    )
    late: Literal["continue", "end"] = Field(
        default="continue",
        description="What becomes of it where `deadline_s` has passed: `end` has it fail with `deadline-passed`.",
    )

    min_progress: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="For a kernel: part of its speed alone that it should keep beside others, at most what your tenant "
        "was promised; null for that.",
    )

    def check_kind(self, kinds: Mapping[str, KindView]) -> KindView:
        """Check that it asks for one thing, and for nothing that goes with another. Null is as good as left out.

        Raises:
            InvalidRequest: It asks for several or none, or has a field too many.
        """
        named = [name for name in kinds if getattr(self, name) is not None]
        if len(named) != 1:
            there = "neither" if not named else "both" if len(kinds) == 2 else "several"
            message = f"application: a job has exactly one of {' and '.join(kinds)}; this has {there}."
            raise InvalidRequest(message, field="application", allowed=f"exactly one of {', '.join(kinds)}")
        if self.late == "end" and self.deadline_s is None:
            message = "late: a job can only be late that has a deadline; give it a deadline_s."
            raise InvalidRequest(message, field="late", allowed=["continue"])
        view = kinds[named[0]]
        for name in sorted(view.refuses & self.model_fields_set):
            if getattr(self, name) is not None:
                raise InvalidRequest(f"{view.title} job takes no {name}.", field=name, allowed="leave it out")
        return view

    def request(self, tenant: str, idempotency_key: str, view: KindView, numbers: Numbers) -> JobRequest:
        """What it asks for, as the hypervisor takes it; `view` is what `check_kind` answers, `numbers` what
        jobs are told as."""
        body = getattr(self, view.name).model_dump() if view.body else None
        return JobRequest(
            tenant=tenant,
            application=self.application or "",
            batch=self.batch,
            inputs={name: tuple(blobs) for name, blobs in self.inputs.items()},
            constants=dict(self.constants),
            priority=self.priority,
            deadline_s=self.deadline_s,
            idempotency_key=idempotency_key,
            kernel=self.kernel.model_dump() if self.kernel else None,
            time_limit_s=self.time_limit_s,
            other_kind=view.name if view.body else "",
            body=body,
            asked=Asked(
                labels=self.labels,
                after=tuple(dict.fromkeys(map(numbers.job.meant, self.after))),
                retries=self.retries.value if self.retries is not None else NO_RETRIES,
                ends_late=self.late == "end",
                min_progress=self.min_progress,
            ),
        )


def submission_model(kinds: Mapping[str, KindView]) -> type[JobSubmission]:
    """The body of a submission: with a field for every kind beside applications and kernels."""
    more: dict[str, Any] = {
        view.name: (view.body | None, Field(default=None, description=f"{view.title}, instead of `application`."))
        for view in kinds.values()
        if view.body
    }
    return create_model(JobSubmission.__name__, __base__=JobSubmission, **more) if more else JobSubmission


class BufferSubmission(Request):
    """A named buffer of an application."""

    role: Literal["input", "output", "intermediate", "constant"] = Field(
        description="Filled from a submission, handed back, between tasks, or one for all items."
    )
    dtype: str = Field(pattern=f"^({'|'.join(DTYPES)})$", description="numpy's name of an element.")
    shape: list[Annotated[Whole, Field(ge=1, le=MAX_BUFFER_BYTES)]] = Field(
        max_length=8, description="Shape of one item's array."
    )


class TaskSubmission(Request):
    """One task of an application: a module, and what its registers are given."""

    name: str = Field(pattern=IDENTIFIER, description="Unique in the application.")
    module: str | None = Field(default=None, pattern=IDENTIFIER, description="Module; null for one of the task's name.")
    arguments: dict[str, str | Whole] = Field(
        default_factory=dict, max_length=256, description="Register of the module to a buffer's name, or a number."
    )
    estimate_us: float = Field(gt=0, le=1e12, description="Expected board time of an item, in microseconds.")
    time_limit_ms: float = Field(gt=0, le=1e9, description="Board milliseconds after which an item is stopped.")


class AppSubmission(Request):
    """A task graph over the modules that are there; the form of `bitstreams/applications/*.yaml`, as JSON."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.APPLICATION]})

    application: str = Field(pattern=IDENTIFIER, description="Its name.")
    summary: str = Field(default="", max_length=1000, description="A description.")
    max_batch: Whole = Field(default=30, ge=1, le=_MAX_ITEMS, description="Most items of a job.")
    goal_slots: Whole = Field(default=3, ge=1, le=64, description="Slots beyond which it gets no faster.")
    goals: dict[Annotated[str, Field(pattern=r"^[0-9]{1,7}$")], Annotated[Whole, Field(ge=1, le=64)]] = Field(
        default_factory=dict, max_length=64, description="The same by batch, where it was measured."
    )
    buffers: dict[Annotated[str, Field(pattern=IDENTIFIER)], BufferSubmission] = Field(
        max_length=512, description="Buffers by name."
    )
    tasks: list[TaskSubmission] = Field(min_length=1, max_length=256, description="Tasks, in any order.")
    edges: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, max_length=4096, description="Pairs of tasks: the second needs the first's item."
    )

    signature: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{128}$",
        description="Ed25519 signature, as `eddy app sign` makes it; needed where the server has a trust store.",
    )

    def package(self) -> dict[str, Any]:
        """As `eddy.packages.catalogue.CatalogueInForce.add` reads it, without what was left out."""
        raw = self.model_dump(exclude_unset=True)
        if raw.get("signature") is None:
            raw.pop("signature", None)
        for task in raw["tasks"]:
            if task.get("module") is None:
                task.pop("module", None)
        return raw


class QuotaSubmission(Request):
    """Bounds of a tenant; what is left out takes the default."""

    max_jobs: Whole = Field(default=64, ge=1, le=1 << 20, description="Jobs that have not ended, at once.")
    max_blob_bytes: Whole = Field(default=1 << 30, ge=0, le=1 << 50, description="Bytes of blobs kept.")
    max_priority: Literal[1, 3, 9] = Field(default=9, description="Highest priority of its jobs.")
    max_requests_per_s: float | None = Field(default=None, gt=0, le=1e6, description="Requests a second; null for any.")
    max_slot_s: float | None = Field(default=None, ge=0, le=1e12, description="Board seconds of slots in a day (UTC).")
    max_core_s: float | None = Field(default=None, ge=0, le=1e12, description="Board seconds of GPU cores in a day.")

    def applied(self, quota: Quota) -> Quota:
        """A quota with what was named here, and the rest as it was."""
        return dataclasses.replace(quota, **{name: getattr(self, name) for name in self.model_fields_set})


class TenantSubmission(Request):
    """A new tenant."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.TENANT_SUBMISSION]})

    id: str = Field(pattern=NAME, description="Its name: letters, digits, `_`, `.` and `-`, a letter first.")
    admin: bool = Field(default=False, description="Whether it may do what the operator may.")
    quota: QuotaSubmission = Field(default_factory=QuotaSubmission, description="Its bounds.")
    attributes: Attributes = Field(
        default_factory=dict,
        description="Data of the operator's own; `weight`, from 1e-6 to 1e6, is what it is entitled to, 1 else.",
    )


class TenantChange(Request):
    """What changes of a tenant, at once; what is left out stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"quota": {"max_jobs": 16, "max_requests_per_s": 50}, "weight": 2.0}]}
    )

    quota: QuotaSubmission = Field(default_factory=QuotaSubmission, description="Bounds; those left out stay.")
    weight: float | None = Field(
        default=None, ge=LEAST_WEIGHT, le=MOST_WEIGHT, description="What it is entitled to; null stays."
    )
    min_progress: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Part of their speed alone that its kernels are promised to keep beside others; null stays.",
    )
    attributes: Attributes | None = Field(
        default=None, description="Data of the operator's own, instead of all there was; null stays."
    )


class KeySubmission(Request):
    """A new key."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"scope": "read", "label": "the lab's screen", "expires_in_s": 86400}]}
    )

    tenant: str | None = Field(default=None, pattern=NAME, description="For whom (operators); null for yourself.")
    scope: Literal["tenant", "operator", "read"] | None = Field(
        default=None,
        description="`tenant` does what a tenant may, `read` changes nothing, `operator` everything; null for that of"
        " the key it replaces, or `tenant`.",
    )
    label: str = Field(default="", max_length=64, description="What you call it.")
    expires_in_s: float | None = Field(
        default=None, gt=0, le=1e9, description="Wall seconds until it ends; null: never."
    )
    replaces: str | None = Field(
        default=None, max_length=64, description="A key that is revoked for it: rotation, in one request."
    )
    grace_s: float = Field(default=0.0, ge=0, le=1e9, description="Wall seconds for which that one stays good.")
