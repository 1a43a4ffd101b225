# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What hosts written for the driver calls of Vortex need: a header, a helper side, and images that they start."""
