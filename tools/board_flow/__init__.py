# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board's build is made of, derived from its floorplan (`hw/vivado/boards.yaml`) and the measured areas."""
