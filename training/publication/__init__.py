"""Verified publication: an adapter goes to a server under its own name and proves that it serves; else nothing
switches."""
