"""Bitstreams: files, packages, signatures, compression, and which of them are in memory. Used by every implementation
of the port."""
