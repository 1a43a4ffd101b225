# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which job goes to which board, when one is taken back, and what tenants weigh where: decisions as functions of a
view, and the head that leads and carries them out."""
