# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From a request to a job that is admitted and prepared: quotas, deadlines, dependencies, compilations, the queue of
submissions. Called by the engine and the servers."""
