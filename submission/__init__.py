"""Countersign: an AI workforce does the work and a human countersigns it."""
