"""Times the Python original's `compare_outputs` on two mapped .npy files: once, since it takes
seconds."""

import json
import sys
import time

import numpy as np

from tensoracle import compare_outputs

candidate, reference = (np.load(path, mmap_mode="r") for path in sys.argv[1:3])
started = time.perf_counter()
compare_outputs(candidate, reference, atol=1e-3, rtol=1e-3)
print(json.dumps({"median_s": time.perf_counter() - started}))
