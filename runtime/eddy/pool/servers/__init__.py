# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""NATS servers that this project runs (`eddy pool up`): the process, its configuration, and which keys are let in.
Called by commands alone."""
