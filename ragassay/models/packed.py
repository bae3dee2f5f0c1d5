"""Keep a model's weights in the layout in which oneDNN multiplies them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_N_ROWS = 64
"""Rows for which the layout is chosen; it suits any number."""


class PackedLinear(nn.Module):
    """A linear layer for inference: the same sums, with weights reordered once, not at each call.

    Args:
        linear: A layer in single precision, with a bias.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, _N_ROWS)
        self._bias = linear.bias.detach()

    def forward(self, rows: Tensor) -> Tensor:
        """Return the layer's output, shape (..., n_out)."""
        return torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, "none", [], "")


def pack(model: nn.Module) -> None:
    """Replace a model's linear layers, where oneDNN is there and they are in single precision."""
    if not torch.backends.mkldnn.is_available():
        return
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if type(layer) is nn.Linear and _is_fit(layer):
                setattr(parent, name, PackedLinear(layer))


def _is_fit(layer: nn.Linear) -> bool:
    is_plain = layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu"
    return is_plain and layer.bias is not None
