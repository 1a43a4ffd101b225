# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Notices on their way out: which targets may be named, how a webhook is signed and sent, how a mail is. Nothing here
keeps anything: `eddy.store.tables.notices` does, and `eddy.api.service.notice_service` decides when."""
