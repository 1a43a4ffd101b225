# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Files below the data base: reading, writing and moving them, names that may be in a path, free space, kinds of
failure. It knows no table."""
