# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is tried of an installed Eddy outside any clone, what is built for it, and what is written down of that."""
