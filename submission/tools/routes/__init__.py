"""The doors over HTTP: parse, call, answer with a view."""
