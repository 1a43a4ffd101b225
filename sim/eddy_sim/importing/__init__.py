# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy module import` does: reads a kernel that others wrote, writes the slot's top around it, and tries it."""
