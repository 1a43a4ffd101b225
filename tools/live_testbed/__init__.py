# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[002]'s testbed as processes on this machine; see `tools/benches/makespan.py`."""
