"""MiniLM-L6 in half precision or bfloat16 by PyTorch, held against the golden embeddings.

usage: minilm_precision.py WEIGHTS GOLDEN TYPE

TYPE is float32, float16 or bfloat16. Every module computes in that type as PyTorch does on the
processor; pooling is in float32, as ours is. Prints one JSON object with the relative L2 error of
all embeddings from the golden's, which double precision gave.
"""

import json
import math
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, INNER, EPSILON = 6, 12, 384, 1536, 1e-12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attended_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x, padding):
        heads = lambda x: x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        query, key, value = (heads(f(x)) for f in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + padding
        context = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = self.attended_norm(self.attended(context) + x)
        return self.norm(self.narrow(F.gelu(self.wide(x))) + x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30522, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.sentences = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids, mask):
        places = torch.arange(ids.shape[1])
        x = self.norm(self.words(ids) + self.sentences.weight[0] + self.positions(places))
        hidden = torch.where(mask.bool(), 0.0, torch.finfo(x.dtype).min).to(x.dtype)
        for layer in self.layers:
            x = layer(x, hidden[:, None, None, :])
        total = (x.float() * mask[..., None]).sum(1)
        return F.normalize(total)


NAMES = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "sentences": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}
LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "norm": "output.LayerNorm",
}


def published(ours: str) -> str:
    """The name in the weights file of one of the modules' parameters."""
    *path, parameter = ours.split(".")
    if path[0] == "layers":
        return f"encoder.layer.{path[1]}.{LAYER_NAMES[path[2]]}.{parameter}"
    return f"{NAMES[path[0]]}.{parameter}"


def main(weights: str, golden: str, name: str) -> None:
    stored, golden = load_file(weights), load_file(golden)
    model = Encoder()
    model.load_state_dict({ours: stored[published(ours)] for ours in model.state_dict()})
    model = model.to(getattr(torch, name)).eval()
    with torch.no_grad():
        found = model(golden["input_ids"], golden["attention_mask"]).double().numpy()
    expected = golden["embeddings_f64"].numpy()
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    print(json.dumps({"relative_l2_error": error, "torch": torch.__version__}))


if __name__ == "__main__":
    main(*sys.argv[1:])
