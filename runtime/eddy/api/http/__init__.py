# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HTTP itself, whatever the request: connections and their bounds, the middleware that every request passes,
problem documents, conditional requests, the OpenAPI page. It knows no job. Used by servers of boards and of
pools."""
