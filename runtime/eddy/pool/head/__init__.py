"""A head as a process (`eddy pool serve`): put together and served here. Beside its routes it answers boards
(`gate`), collects outputs, keeps streams and counts."""
