"""The port over a socket, and the privileged process behind it (`boardd`), with its notary of the audit chain."""
