# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of a tenant: submit, look at, explain and end jobs, kernels, arrays and blobs, and log in.

Over HTTP only; called by `main`, which imports a command when it runs."""
