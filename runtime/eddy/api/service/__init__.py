# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The composition root: it puts an application and a server together from all other rooms, and holds the tasks
that run while the server does. Called by `eddy serve`, demos and tests."""
