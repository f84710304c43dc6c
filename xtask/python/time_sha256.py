"""Reads a file whole and takes its SHA-256, as the Python original does with every saved engine
that it reuses and every weights file."""

import hashlib
import sys

with open(sys.argv[1], "rb") as file:
    hashlib.sha256(file.read()).hexdigest()
