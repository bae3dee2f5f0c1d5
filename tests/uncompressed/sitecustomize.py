"""Store files in archives without compression, which takes most of the time of a build."""

import zlib

_compressobj = zlib.compressobj
zlib.compressobj = lambda level=0, *arguments, **options: _compressobj(0, *arguments, **options)
