"""Proofs on rows that nothing has seen: tests, bounds, claims."""
