"""The stages and commands of Concord."""

import sys
from contextlib import suppress
from importlib import machinery
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType


class _Mending(machinery.SourceFileLoader):
    """Reads the source where a disk that was full has cut off the bytecode, which Python would refuse for ever."""

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            return super().get_code(fullname)
        except (EOFError, ValueError, TypeError):  # what `marshal` raises
            with suppress(OSError):
                Path(cache_from_source(self.path)).unlink(missing_ok=True)
            return self.source_to_code(self.get_data(self.path), self.path)


# This file is smaller than a page of a disk, so that its own bytecode is whole or absent.
sys.path_hooks.insert(
    0,
    machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (_Mending, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    ),
)
sys.path_importer_cache.clear()
