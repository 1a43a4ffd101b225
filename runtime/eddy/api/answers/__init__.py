# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes out: a model for every answer, and how records of the core become one. Called by routes and by a
pool's head, with values alone."""
