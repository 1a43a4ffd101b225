"""Policies and predictors to compare with; each registers by an entry point of this distribution."""
