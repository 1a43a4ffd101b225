# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether what jobs are told of their start and end comes true, over recorded sequences and random mixes."""
