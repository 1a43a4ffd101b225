# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The routes of a board's server, a file for each resource. Called only by the application that includes them."""
