# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The OpenCL platform: a C library that every OpenCL host can load (`native`), and the helper process that it starts,
which speaks to a server through the client's sessions."""
