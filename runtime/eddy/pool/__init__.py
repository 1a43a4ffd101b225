# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool of boards on NATS JetStream: a head that places jobs, agents beside `eddy serve` that run them.

A head is put together in `head.app` and served by `head.serving`; a board's part is `agent.agent`; `servers` runs the
NATS servers. Needs the extra `pool`. Nothing else of Eddy imports this package, but for the commands that are about
pools.
"""
