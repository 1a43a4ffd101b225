# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Logging in at an identity provider, as it comes in and goes out over HTTP."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from eddy.api.request_bodies.base import Answer, Request


class SignOnOffer(Answer):
    """Whether people log in at an identity provider."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"provider": "login.lab.example", "path": "/v1/session/sign-on"}]},
    )

    provider: str = Field(description="Name of the provider's host; empty where there is none.")
    path: str = Field(description="Where a browser goes to log in; empty where there is no provider.")


class SignOnCode(Request):
    """What a command line fetches its key with."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "Xk3...", "verifier": "q9w..."}]})

    code: str = Field(min_length=1, max_length=200, description="As the browser brought it to the command line.")
    verifier: str = Field(min_length=43, max_length=128, description="Whose challenge the log-in began with.")


class SignOnKey(Answer):
    """A key of somebody who logged in at the provider; it is shown this once."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "key": "eddy_...",
                    "id": "k5c0ffee5c0ff",
                    "tenant": "ada",
                    "operator": False,
                    "expires_unix_s": 1767268800.0,
                }
            ]
        },
    )

    key: str = Field(description="The key: in this answer, and nowhere else.")
    id: str = Field(description="Its name.")
    tenant: str = Field(description="Whose it is.")
    operator: bool = Field(description="Whether it may do what the operator may.")
    expires_unix_s: float = Field(description="When it ends, by wall time.")
