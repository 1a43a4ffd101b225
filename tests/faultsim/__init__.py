# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The deterministic fault simulation: the real engine, store, API and a board's model on one seeded scheduler.

- `disk`: what a loss of power leaves of files: old and new sectors in any mixture, names with and without their last
  changes.
- `port`: a board that is slow, away, restarts, loses answers, and shows events late, twice and out of order.
- `clients`: requests over ASGI, each under an idempotency key, asked again where no answer came; and what was answered.
- `world`: one seed: what happens next, crashes, virtual time.
- `promises`: what must hold at every moment, and in the end.
"""
