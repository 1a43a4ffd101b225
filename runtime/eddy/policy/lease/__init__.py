# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which lease gets which slot next, which one ends, and who is given notice: a frozen view in, decisions out."""
