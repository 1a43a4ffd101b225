# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The store, which is all tables together; and what knows several of them: who is told what, and the removal of a
tenant with all it has."""
