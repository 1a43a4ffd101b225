# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The machine, the process and the installation that a program of Eddy runs in: private files and the errors of file
systems, logs, signals, the service manager, trust in servers, memory and threads, and what is installed where. It knows
nothing of jobs; every package may use it."""
