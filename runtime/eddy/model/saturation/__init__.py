"""How many slots an application can use ([004] 2.3.2): make-spans over slots and batches, and goals from them."""
