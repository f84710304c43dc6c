"""A short way to write an ONNX graph node by node."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class OnnxGraph:
    """Collects nodes and initializers; every method that adds something returns its name."""

    def __init__(self, name: str):
        self.name = name
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []

    def input(self, name: str, dtype: int, shape: list) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def constant(self, array: np.ndarray, name: str | None = None) -> str:
        name = name or f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, value: str, name: str, shape: list, dtype: int = TensorProto.FLOAT) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def save(self, path) -> None:
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, self.initializers
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=10)
        onnx.checker.check_model(model)
        onnx.save(model, path)
