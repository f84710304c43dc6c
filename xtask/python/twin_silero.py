"""Silero VAD for 16 kHz, one 32 ms chunk at a time, as an ONNX graph."""

import numpy as np
from onnx import TensorProto

from onnx_graph import OnnxGraph

CONTEXT, STEP = 64, 512


def write(weights: dict[str, np.ndarray], path) -> None:
    """Inputs chunk [1, 576], h and c [1, 1, 128]; outputs probability [1, 1, 1], next_h, next_c."""
    g = OnnxGraph("silero_vad")
    weight = lambda name: g.constant(weights[name], name)
    convolution = lambda x, name, stride, pad: g.add(
        "Conv",
        x,
        weight(f"{name}.weight"),
        *([weight(f"{name}.bias")] if f"{name}.bias" in weights else []),
        strides=[stride],
        pads=[pad, pad],
    )
    # PyTorch orders the gates input, forget, cell, output; ONNX input, output, forget, cell.
    reordered = lambda name: np.concatenate([np.split(weights[name], 4)[i] for i in (0, 3, 1, 2)])

    chunk = g.input("chunk", TensorProto.FLOAT, [1, CONTEXT + STEP])
    h = g.input("h", TensorProto.FLOAT, [1, 1, 128])
    c = g.input("c", TensorProto.FLOAT, [1, 1, 128])
    x = g.add("Pad", chunk, g.constant(np.array([0, 0, 0, CONTEXT])), mode="reflect")
    x = g.add("Unsqueeze", x, g.constant(np.array([1])))
    x = convolution(x, "stft_conv", 128, 0)
    real, imaginary = g.add("Split", x, outputs=2, axis=1, num_outputs=2)
    square = lambda x: g.add("Mul", x, x)
    x = g.add("Sqrt", g.add("Add", square(real), square(imaginary)))
    for i, stride in enumerate([1, 2, 2, 1], start=1):
        x = g.add("Relu", convolution(x, f"conv{i}", stride, 1))
    x = g.add("Transpose", x, perm=[2, 0, 1])
    bias = np.concatenate([reordered("lstm_cell.bias_ih"), reordered("lstm_cell.bias_hh")])
    _, next_h, next_c = g.add(
        "LSTM",
        x,
        g.constant(reordered("lstm_cell.weight_ih")[None]),
        g.constant(reordered("lstm_cell.weight_hh")[None]),
        g.constant(bias[None]),
        "",
        h,
        c,
        outputs=3,
        hidden_size=128,
    )
    x = g.add("Relu", g.add("Transpose", next_h, perm=[1, 2, 0]))
    g.output(g.add("Sigmoid", convolution(x, "final_conv", 1, 0)), "probability", [1, 1, 1])
    g.output(next_h, "next_h", [1, 1, 128])
    g.output(next_c, "next_c", [1, 1, 128])
    g.save(path)


def chunks(samples: np.ndarray) -> np.ndarray:
    """Cuts 16-bit samples into chunks of 64 samples of context and 512 new ones."""
    samples = np.pad(samples.astype(np.float32) / 32768, (CONTEXT, 0))
    count = (len(samples) - CONTEXT) // STEP
    return np.stack([samples[i * STEP : i * STEP + CONTEXT + STEP] for i in range(count)])


def run(session, samples: np.ndarray):
    """The probability of each chunk, and the inputs of chunk 40, for timing."""
    h = c = np.zeros((1, 1, 128), np.float32)
    probabilities, timed = [], {}
    for i, chunk in enumerate(chunks(samples)):
        feed = {"chunk": chunk[None], "h": h, "c": c}
        if i == 40:
            timed = feed
        probability, h, c = session.run(["probability", "next_h", "next_c"], feed)
        probabilities.append(probability.item())
    return np.array(probabilities), timed
