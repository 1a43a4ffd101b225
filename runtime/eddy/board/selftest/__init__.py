# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What only hardware can tell: `eddy board test`, its steps and known answers."""
