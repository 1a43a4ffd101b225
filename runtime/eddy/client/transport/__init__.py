# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One request to a server: what is sent, tried again and answered, in a thread or an event loop; nothing of jobs.

Called by `calls` and by the two clients."""
