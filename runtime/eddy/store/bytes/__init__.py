"""Blobs as files next to the data base: uploads, sizes, sweeps."""
