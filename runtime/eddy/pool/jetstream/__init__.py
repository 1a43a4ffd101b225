# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What JetStream keeps, a file a bucket: jobs, tenants, keys, boards, the leader's lease, and who refers to
which bytes. Heads alone may use it."""
