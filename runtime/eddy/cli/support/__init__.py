# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What commands share: options, output as a table or JSON, progress, contexts, and the server they talk to.

Knows of no command; every room of the command line may call it."""
