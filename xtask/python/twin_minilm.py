"""MiniLM-L6 with masked mean pooling and L2 normalization as an ONNX graph."""

import numpy as np
from onnx import TensorProto

from onnx_graph import OnnxGraph

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12


def write(weights: dict[str, np.ndarray], path) -> None:
    """Inputs input_ids and attention_mask [batch, tokens]; output embedding [batch, 384]."""
    g = OnnxGraph("minilm_l6")
    weight = lambda name: g.constant(weights[name], name)
    scalar = lambda value: g.constant(np.array(value, np.float32))

    def linear(x, name):
        product = g.add("MatMul", x, g.constant(weights[f"{name}.weight"].T, f"{name}.weight"))
        return g.add("Add", product, weight(f"{name}.bias"))

    def layer_norm(x, name):
        scale, bias = weight(f"{name}.weight"), weight(f"{name}.bias")
        return g.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON)

    def heads(x, perm):
        split = g.add("Reshape", x, g.constant(np.array([0, 0, HEADS, WIDTH // HEADS])))
        return g.add("Transpose", split, perm=perm)

    shape = ["batch", "tokens"]
    ids = g.input("input_ids", TensorProto.INT64, shape)
    mask = g.input("attention_mask", TensorProto.INT64, shape)

    tokens = g.add("Shape", ids, start=1, end=2)
    positions = g.add(
        "Slice",
        weight("embeddings.position_embeddings.weight"),
        g.constant(np.array([0])),
        tokens,
        g.constant(np.array([0])),
    )
    x = g.add("Gather", weight("embeddings.word_embeddings.weight"), ids)
    x = g.add("Add", x, g.constant(weights["embeddings.token_type_embeddings.weight"][0]))
    x = layer_norm(g.add("Add", x, positions), "embeddings.LayerNorm")

    kept = g.add("Cast", mask, to=TensorProto.FLOAT)
    # 0 where a token counts, the lowest finite number where it is padding.
    hidden = g.add("Mul", g.add("Sub", scalar(1), kept), scalar(np.finfo(np.float32).min))
    hidden = g.add("Unsqueeze", hidden, g.constant(np.array([1, 2])))

    for i in range(LAYERS):
        layer = f"encoder.layer.{i}"
        query = heads(linear(x, f"{layer}.attention.self.query"), [0, 2, 1, 3])
        key = heads(linear(x, f"{layer}.attention.self.key"), [0, 2, 3, 1])
        value = heads(linear(x, f"{layer}.attention.self.value"), [0, 2, 1, 3])
        scores = g.add("Div", g.add("MatMul", query, key), scalar(np.sqrt(WIDTH // HEADS)))
        attention = g.add("Softmax", g.add("Add", scores, hidden), axis=-1)
        context = g.add("Transpose", g.add("MatMul", attention, value), perm=[0, 2, 1, 3])
        context = g.add("Reshape", context, g.constant(np.array([0, 0, WIDTH])))
        attended = linear(context, f"{layer}.attention.output.dense")
        x = layer_norm(g.add("Add", attended, x), f"{layer}.attention.output.LayerNorm")
        inner = g.add("Gelu", linear(x, f"{layer}.intermediate.dense"))
        outer = linear(inner, f"{layer}.output.dense")
        x = layer_norm(g.add("Add", outer, x), f"{layer}.output.LayerNorm")

    kept = g.add("Unsqueeze", kept, g.constant(np.array([2])))
    tokens_axis = g.constant(np.array([1]))
    total = g.add("ReduceSum", g.add("Mul", x, kept), tokens_axis, keepdims=0)
    count = g.add("Max", g.add("ReduceSum", kept, tokens_axis, keepdims=0), scalar(1e-9))
    mean = g.add("Div", total, count)
    norm = g.add("ReduceL2", mean, g.constant(np.array([1])), keepdims=1)
    g.output(g.add("Div", mean, norm), "embedding", ["batch", WIDTH])
    g.save(path)


def timed(tokens: int) -> dict[str, np.ndarray]:
    """One sentence of the given number of tokens, for timing."""
    ids = np.random.default_rng(tokens).integers(1000, 30000, (1, tokens))
    ids[0, 0], ids[0, -1] = 101, 102  # [CLS] and [SEP]
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}
