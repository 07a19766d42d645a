"""The kernel under test: its source, its build, and the cache of what was built.

`find()` gives the built kernel, `build()` makes it. Nothing here boots it: that is the engine's.
"""

from narrows.kernel.build import Progress, Training, Trial, build
from narrows.kernel.by_name import named
from narrows.kernel.image import KernelImage, find

__all__ = ["KernelImage", "Progress", "Training", "Trial", "build", "find", "named"]
