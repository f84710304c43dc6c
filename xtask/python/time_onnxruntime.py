"""Times one ONNX model in ONNX Runtime.

usage: time_onnxruntime.py MODEL INPUTS.npz THREADS

Prints one JSON object: the median of one iteration's seconds, and the number of iterations. Inputs
and outputs are bound once, so that an iteration holds little of Python's own time.
"""

import json
import sys
import time

import numpy as np
import onnxruntime

WARM_UP_SECONDS, TIMED_SECONDS, LEAST_ITERATIONS = 0.5, 1.5, 20


def main(model: str, inputs: str, threads: str) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in np.load(inputs).items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)

    times = []
    started = time.perf_counter()
    while True:
        before = time.perf_counter()
        session.run_with_iobinding(binding)
        after = time.perf_counter()
        if after - started < WARM_UP_SECONDS:
            continue
        times.append(after - before)
        enough = after - started >= WARM_UP_SECONDS + TIMED_SECONDS
        if enough and len(times) >= LEAST_ITERATIONS:
            break
    print(json.dumps({"median_s": float(np.median(times)), "iterations": len(times)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
