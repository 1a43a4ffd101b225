# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Memory that stays on the board for a tenant, and the stream of commands on it: which may begin, what a launch looks
like, and what the board's memory says of them. Called by the engine, which carries them out."""
