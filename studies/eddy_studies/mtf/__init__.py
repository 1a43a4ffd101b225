# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Reproduction of [003]: most token first against Gandiva-fair and Themis, in rounds."""
