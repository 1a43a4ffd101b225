# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One SQLite file: connection, schema and its changes, readers and the writer's turns, health, damaged rows."""
