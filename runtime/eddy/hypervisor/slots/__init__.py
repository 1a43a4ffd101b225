# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is known of slots: their pools, the modules and images in and near them, memory, the configuration port. The
state that the machine changes and policies are shown."""
