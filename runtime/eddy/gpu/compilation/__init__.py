# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""OpenCL C into programs: options, headers, built-in functions, clang in its sandbox, the device library, the cache.

`Compiler` and `build` are the way in; the hypervisor's intake and the command line call them."""
