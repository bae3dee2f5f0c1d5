"""Packed layers return what the layers that they replace return."""

import pytest
from lazy import LazyModule

from ragassay.models.layers import PackedLinear, pack

nn = LazyModule("torch.nn")
torch = LazyModule("torch")

pytestmark = pytest.mark.skipif(
    "not torch.backends.mkldnn.is_available()", reason="torch without oneDNN"
)


@pytest.mark.parametrize("n_rows", [1, 30, 200])
def test_a_packed_layer_returns_the_same_sums(n_rows):
    torch.manual_seed(n_rows)
    layer, rows = nn.Linear(48, 96).eval(), torch.randn(1, n_rows, 48)
    with torch.inference_mode():
        torch.testing.assert_close(PackedLinear(layer)(rows), layer(rows), rtol=1e-5, atol=1e-5)


def test_only_linear_layers_in_single_precision_with_a_bias_are_packed():
    model = nn.Sequential(
        nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 4, bias=False), nn.Linear(4, 4).half()
    )
    pack(model)
    kinds = [type(layer) for layer in (*model[0].children(), model[1], model[2])]
    assert kinds == [PackedLinear, nn.Linear, nn.Linear]
