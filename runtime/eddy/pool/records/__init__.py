# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is kept and said of jobs and boards, as values and as JSON. It knows no server; all other rooms may use it."""
