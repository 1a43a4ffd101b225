"""Commands of `eddy` that the studies bring; each registers by an entry point of this distribution."""
