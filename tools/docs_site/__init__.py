# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: pages laid out for the generator, pages that are generated, what is checked of it."""
