# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The study of [001]: slowdown measured, predicted and managed on cores that share a cache and memory."""
