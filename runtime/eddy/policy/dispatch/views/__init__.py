# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a dispatch policy sees and answers: slots, jobs and their tasks in order, and what follows from them alone.

Values and pure functions; the hypervisor makes views, every policy reads them."""
