"""Download a file of a published experiment and check its SHA-256."""

import hashlib
import sys
from urllib.request import urlopen


def download(address: str, sha256: str) -> bytes:
    """Return the content of a file; exit if it has another SHA-256."""
    with urlopen(address, timeout=60) as response:
        content: bytes = response.read()
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        sys.exit(f"{address}: SHA-256 is {digest}, not {sha256}")
    return content
