# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What comes in: JSON read strictly, names and numbers, and a model for every body and query. The lowest room: it
knows no request, and every other may use it."""
