"""Blobs and outputs beside the tables: uploads, sizes, sweeps."""
