"""The server as a stranger meets it: only what a request can do and an answer can say."""
