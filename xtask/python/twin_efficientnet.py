"""EfficientNet-Lite0 as an ONNX graph."""

import numpy as np
from onnx import TensorProto

from onnx_graph import OnnxGraph

# Repeats, kernel, stride of the first repeat, expansion, channels out.
STAGES = [
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
]
EPSILON = 1e-3


def write(weights: dict[str, np.ndarray], path) -> None:
    """Input image [1, 3, 224, 224], already scaled; output logits [1, 1000]."""
    g = OnnxGraph("efficientnet_lite0")
    weight = lambda name: g.constant(weights[name], name)
    bounds = [g.constant(np.array(bound, np.float32)) for bound in (0, 6)]

    def convolution(x, name, norm, stride=1, groups=1, relu6=True):
        size = weights[f"{name}.weight"].shape[-1]
        # SAME padding of even inputs: an odd total puts the extra row at the end.
        total = size - stride
        begin, end = total // 2, total - total // 2
        x = g.add(
            "Conv",
            x,
            weight(f"{name}.weight"),
            strides=[stride] * 2,
            pads=[begin, begin, end, end],
            group=groups,
        )
        parts = [weight(f"{norm}.{p}") for p in ("weight", "bias", "running_mean", "running_var")]
        x = g.add("BatchNormalization", x, *parts, epsilon=EPSILON)
        return g.add("Clip", x, *bounds) if relu6 else x

    image = g.input("image", TensorProto.FLOAT, [1, 3, 224, 224])
    x, channels, block = convolution(image, "_conv_stem", "_bn0", stride=2), 32, 0
    for repeats, _, first_stride, expansion, out in STAGES:
        for repeat in range(repeats):
            name, stride, start = f"_blocks.{block}", first_stride if repeat == 0 else 1, x
            if expansion != 1:
                x = convolution(x, f"{name}._expand_conv", f"{name}._bn0")
            groups = channels * expansion
            x = convolution(x, f"{name}._depthwise_conv", f"{name}._bn1", stride, groups)
            x = convolution(x, f"{name}._project_conv", f"{name}._bn2", relu6=False)
            if stride == 1 and channels == out:
                x = g.add("Add", x, start)
            channels, block = out, block + 1
    x = g.add("GlobalAveragePool", convolution(x, "_conv_head", "_bn1"))
    x = g.add("Flatten", x)
    logits = g.add("Gemm", x, weight("_fc.weight"), weight("_fc.bias"), transB=1)
    g.output(logits, "logits", [1, 1000])
    g.save(path)


def images(pixels: np.ndarray) -> np.ndarray:
    """Scales 8-bit images [n, 224, 224, 3] as the model was trained to see them."""
    return np.ascontiguousarray(((pixels.astype(np.float32) - 127) / 128).transpose(0, 3, 1, 2))
