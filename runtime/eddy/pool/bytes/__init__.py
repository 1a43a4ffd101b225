# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where a pool's bytes lie: files of a folder that its heads share, or objects of an S3-compatible store. It knows no
tenant's account; heads alone may use it."""
