# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs, from a submission that is checked to the removal of what is left: records, lists, arrays, events, outputs.
Before a job is kept it asks what its tenant used."""
