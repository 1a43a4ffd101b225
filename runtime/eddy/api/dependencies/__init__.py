# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board's routes are given and share: the server's parts, the caller, the job
that an id names, streams of events, notes for the audit log. Called by routes and by the
service's background tasks."""
