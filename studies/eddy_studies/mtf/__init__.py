"""Reproduction of [003]: most token first against Gandiva-fair and Themis, in rounds."""
