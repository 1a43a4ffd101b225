"""What will become of the queue: the policies that decide live, asked in virtual time about jobs as they stand now."""
