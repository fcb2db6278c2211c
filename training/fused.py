"""Generation for models of Llama's form on a GPU: one captured graph per token, the adapter merged.

A small model's token costs more in launches than in arithmetic: 30 layers of some 50 kernels each, 128 times for
an answer. Here the weights that belong together stand together (q, k, v, and the first two once more with their
halves exchanged, which is what their rotation needs; gate, up), base + adapter are added up in fp32 before each
drawing, keys and values have one buffer of a fixed size, and a step, the draw included, is captured once as a CUDA
graph and played again: a dozen kernels a layer, and no line of Python per token but the one that plays it.
Log-probabilities are those of the merged weights, which are rounded once; truncated importance sampling corrects
for it.

Buffers and graphs are kept by shape: the next drawing of a training has the same.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from pointwork.training.lora import PROJECTIONS
from pointwork.training.model import LocalModel
from pointwork.training.prefill import Prefill
from pointwork.training.tensors import floats, integers

COLUMNS, ROWS = 64, 16  # sizes of buffers are rounded up to these
KEPT, KEPT_BYTES = 2, 4 << 30  # shapes whose buffers are kept, and their keys and values; one in any case
LOOK = 8  # tokens between two looks whether all have ended: each waits for the GPU
# The others take masks that cut off whole blocks less well, or not at all.
KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
ROPES = ("default", "linear", "llama3")  # angles that do not depend on the length of the text


def understood(model: LocalModel) -> bool:
    """Whether the model is of Llama's form: no biases, SiLU, angles that are a function of the position alone.

    An adapter must be of the seven projections.
    """
    config: Any = model.causal.config
    rope: dict[str, Any] = getattr(config, "rope_parameters", None) or {}
    plain = not any(getattr(config, name, False) for name in ("attention_bias", "mlp_bias"))
    return (
        config.model_type == "llama"
        and plain
        and config.hidden_act == "silu"
        and rope.get("rope_type", "default") in ROPES
        and set(model.lora.targets if model.lora else ()) <= set(PROJECTIONS)
    )


class _Layer:
    """One layer's weights as they are multiplied.

    ``qkv`` has the rows q′, k′, q, k, v: the primed ones are the others with the halves of each head exchanged.
    """

    def __init__(self, module: Any, dtype: torch.dtype, width: int) -> None:
        attention, mlp = module.self_attn, module.mlp
        self._width = width
        self._rotated = [attention.q_proj, attention.k_proj]
        self._parts = [
            [*self._rotated, attention.v_proj],
            [attention.o_proj],
            [mlp.gate_proj, mlp.up_proj],
            [mlp.down_proj],
        ]
        self._norms = [module.input_layernorm.weight, module.post_attention_layernorm.weight]
        self.fused = [_room(several, dtype) for several in [[*self._rotated, *self._parts[0]], *self._parts[1:]]]
        self.norms = [torch.empty_like(weight, dtype=dtype) for weight in self._norms]

    def refresh(self) -> None:
        first = sum(len(_base(module).weight) for module in self._rotated)
        for several, room in zip(self._parts, self.fused, strict=True):
            start = first if several is self._parts[0] else 0
            for module in several:
                value = _merged(module)
                room[start : start + len(value)].copy_(value)
                start += len(value)
        qkv = self.fused[0]
        heads = qkv[first : 2 * first].view(-1, self._width, qkv.shape[1])
        qkv[:first].view_as(heads).copy_(heads.roll(self._width // 2, 1))
        for weight, room in zip(self._norms, self.norms, strict=True):
            room.copy_(weight)


def _room(modules: Sequence[Any], dtype: torch.dtype) -> Tensor:
    weights: list[Tensor] = [_base(module).weight for module in modules]
    shape = (sum(len(weight) for weight in weights), weights[0].shape[1])
    return torch.empty(shape, dtype=dtype, device=weights[0].device)


def _base(module: Any) -> Any:
    return getattr(module, "base_layer", module)


def _merged(module: Any) -> Tensor:
    weight: Tensor = _base(module).weight
    if _base(module) is module or module.disable_adapters:
        return weight
    (name,) = module.active_adapters
    a, b = module.lora_A[name].weight.float(), module.lora_B[name].weight.float()
    return torch.addmm(weight.float(), b, a, alpha=module.scaling[name])


class Weights:
    """Those of a model, merged with its adapter, in the type that it computes in.

    Args:
        model: one that is ``understood``.
    """

    def __init__(self, model: LocalModel) -> None:
        decoder: Any = model.causal.get_decoder()
        config: Any = model.causal.config
        self.dtype = dtype = model.computes_in
        self.heads, self.shared = int(config.num_attention_heads), int(config.num_key_value_heads)
        self.width = int(getattr(config, "head_dim", None) or config.hidden_size // self.heads)
        self.epsilon = float(config.rms_norm_eps)
        self.layers = [_Layer(module, dtype, self.width) for module in decoder.layers]
        self._others = [decoder.embed_tokens.weight, decoder.norm.weight, model.causal.lm_head.weight]
        # A head that is the embedding is one tensor here too.
        rooms = {id(weight): torch.empty_like(weight, dtype=dtype) for weight in self._others}
        self.embedding, self.norm, self.head = (rooms[id(weight)] for weight in self._others)
        self._rotary: Any = decoder.rotary_emb
        self._longest = 0
        self.cos = self.sin = torch.empty(0)

    @torch.no_grad()
    def refresh(self) -> None:
        """Take the weights as they are now, in place: captured graphs go on with them."""
        for layer in self.layers:
            layer.refresh()
        for weight, room in zip(self._others, (self.embedding, self.norm, self.head), strict=True):
            room.copy_(weight)

    def angles(self, longest: int) -> None:
        """Make the tables of cosines and sines reach so far; a longer one is another tensor."""
        if longest <= self._longest:
            return
        self._longest = longest
        places = torch.arange(longest, device=self.embedding.device)[None]
        cos, sin = self._rotary(self.embedding[:1, None], position_ids=places)
        half = self.width // 2
        # x·cos + rotated(x)·sin with rotated(x) = (−second, first): the sign goes into the table. Values stay.
        signed = torch.cat([-sin[0, :, :half], sin[0, :, half:]], -1)
        cos, sin = (table[:, None].expand(-1, self.heads + self.shared, -1) for table in (cos[0], signed))
        kept = (longest, self.shared, self.width)
        self.cos = torch.cat([cos, cos.new_ones(kept)], 1)
        self.sin = torch.cat([sin, sin.new_zeros(kept)], 1)


class Runner:
    """Buffers of one shape, and the step that fills the next column of them.

    Args:
        weights: merged.
        rows, columns: sequences, and tokens of each with its prompt.
        stops: tokens that end an answer.
    """

    def __init__(self, weights: Weights, rows: int, columns: int, stops: Sequence[int]) -> None:
        device = weights.embedding.device
        shape = (len(weights.layers), rows, 2 * weights.shared, columns, weights.width)
        self._weights = weights
        weights.angles(columns)
        self._cos, self._sin = weights.cos, weights.sin
        self.both = torch.zeros(shape, dtype=weights.dtype, device=device)  # keys, then values
        self.keys, self.values = self.both[:, :, : weights.shared], self.both[:, :, weights.shared :]
        self.mask = torch.zeros(rows, columns, dtype=weights.dtype, device=device)  # 0 where something is seen
        self.ids = torch.zeros(rows, columns, dtype=torch.long, device=device)
        self.logprobs = torch.zeros(rows, columns, device=device)
        self.ended = torch.zeros(rows, dtype=torch.bool, device=device)
        self.noise = torch.ones(rows, len(weights.head), device=device)
        self.sharpness = torch.ones((), device=device)
        self._positions = torch.zeros(rows, dtype=torch.long, device=device)
        self._column = torch.zeros(1, dtype=torch.long, device=device)
        self._tokens = torch.zeros(rows, dtype=torch.long, device=device)
        self._stops = torch.tensor(sorted(stops), dtype=torch.long, device=device)
        self._graph: Any = None
        if device.type == "cuda":
            self._capture()

    def _capture(self) -> None:
        cuda: Any = torch.cuda
        side = cuda.Stream()
        side.wait_stream(cuda.current_stream())
        with sdpa_kernel(KERNELS):
            with cuda.stream(side):  # what libraries set up at a first call must not be captured
                self._step()
            cuda.current_stream().wait_stream(side)
            self._graph = cuda.CUDAGraph()
            with cuda.graph(self._graph):
                self._step()

    @property
    def size(self) -> int:
        """Bytes of keys and values."""
        return self.both.nbytes

    def start(self, found: Prefill, temperature: float) -> None:
        """Take up what the prompts left, and draw the first token (``noise`` is there)."""
        count, longest = found.mask.shape
        self.sharpness.fill_(1 / (temperature or 1.0))
        self.both.zero_()  # what is not seen is multiplied by 0, and must be a number
        self.mask.fill_(float("-inf"))
        self.mask[:count, :longest].masked_fill_(found.mask.bool(), 0)
        self.ended.fill_(True)
        self.ended[:count] = False
        self._positions.zero_()
        self._positions[:count] = found.lengths - 1
        for place, (keys, values) in enumerate(found.layers()):
            self.keys[place, :count, :, :longest] = keys
            self.values[place, :count, :, :longest] = values
        self._column.fill_(longest - 1)
        found.release()
        logits = found.logits.new_zeros(len(self.mask), found.logits.shape[1])
        logits[:count] = found.logits
        self._draw(logits)

    def step(self) -> None:
        """One more token of each row."""
        if self._graph is None:
            self._step()
        else:
            self._graph.replay()

    def _step(self) -> None:
        weights = self._weights
        rows, heads, shared = len(self.mask), weights.heads, weights.shared
        whole = heads + 2 * shared
        self.mask.index_fill_(1, self._column, 0)
        seen = self.mask[:, None, None]
        cos, sin = self._cos[self._positions], self._sin[self._positions]
        states = weights.embedding[self._tokens]
        for place, layer in enumerate(weights.layers):
            qkv, out, gate_up, down = layer.fused
            parts = functional.linear(self._normed(states, layer.norms[0]), qkv).view(rows, -1, weights.width)
            # Behind q′ and k′ stands something for the values too, which their sine of 0 takes away.
            turned = torch.addcmul(parts[:, -whole:] * cos, parts[:, :whole], sin)
            self.both[place].index_copy_(2, self._column, turned[:, heads:, None])
            # The heads that share keys stand where queries one after the other would: nothing is repeated.
            asked = turned[:, :heads].reshape(rows, shared, heads // shared, weights.width)
            read = functional.scaled_dot_product_attention(
                asked, self.keys[place], self.values[place], attn_mask=seen
            )
            states.addmm_(read.reshape(rows, -1), out.t())
            gate, up = functional.linear(self._normed(states, layer.norms[1]), gate_up).chunk(2, -1)
            states.addmm_(functional.silu(gate) * up, down.t())
        self._draw(functional.linear(self._normed(states, weights.norm), weights.head).float())

    def _normed(self, states: Tensor, weight: Tensor) -> Tensor:
        return functional.rms_norm(states, (states.shape[-1],), weight, self._weights.epsilon)

    def _draw(self, logits: Tensor) -> None:
        """Draw by exponential races, argmax p / e with e ~ Exp(1), which is argmax p where all e are 1."""
        scores = torch.log_softmax(logits * self.sharpness, -1)
        tokens = (scores.exp() / self.noise).argmax(-1)
        self._tokens.copy_(tokens)
        self._column.add_(1)
        self._positions.add_(1)
        self.ids.index_copy_(1, self._column, tokens[:, None])
        self.logprobs.index_copy_(1, self._column, scores.gather(-1, tokens[:, None]))
        self.ended.logical_or_(torch.isin(tokens, self._stops))


class Fused:
    """What one model draws with: merged weights, and runners by shape."""

    _of: "WeakKeyDictionary[LocalModel, Fused]" = WeakKeyDictionary()

    def __init__(self, model: LocalModel) -> None:
        self._weights = Weights(model)
        self._stops = tuple(model.stop_ids)
        self._runners: OrderedDict[tuple[int, int], Runner] = OrderedDict()

    @classmethod
    def of(cls, model: LocalModel) -> "Fused":
        """The model's, with its weights as they are now."""
        found = cls._of.get(model)
        if found is None or frozenset(found._stops) != model.stop_ids:
            found = cls._of[model] = cls(model)
        found._weights.refresh()
        return found

    @classmethod
    def forget(cls, model: LocalModel) -> None:
        """Give back what is kept for a model."""
        cls._of.pop(model, None)

    def run(
        self, found: Prefill, max_tokens: int, temperature: float, generator: torch.Generator
    ) -> list[tuple[list[int], list[float], bool]]:
        """Token ids, log-probabilities and whether it ended by itself, of each row of ``found``."""
        with torch.autocast(found.mask.device.type, enabled=False):  # everything is of one type already
            return self._run(found, max_tokens, temperature, generator)

    def _run(
        self, found: Prefill, max_tokens: int, temperature: float, generator: torch.Generator
    ) -> list[tuple[list[int], list[float], bool]]:
        count, longest = found.mask.shape
        runner = self._runner(count, longest + max_tokens)

        def noise() -> None:
            if temperature:
                runner.noise.exponential_(generator=generator)  # pyright: ignore[reportUnknownMemberType]

        runner.noise.fill_(1.0)
        noise()
        runner.start(found, temperature)
        for place in range(1, max_tokens):
            if place % LOOK == 0 and bool(runner.ended.all()):
                break
            noise()
            runner.step()
        made = slice(longest, longest + max_tokens)
        ids, logprobs = runner.ids[:count, made].cpu(), runner.logprobs[:count, made].cpu()
        return [self._cut(integers(a), floats(b)) for a, b in zip(ids, logprobs, strict=True)]

    def _runner(self, rows: int, columns: int) -> Runner:
        shape = (-(-rows // ROWS) * ROWS, -(-columns // COLUMNS) * COLUMNS)
        if shape not in self._runners:
            while len(self._runners) >= KEPT or sum(one.size for one in self._runners.values()) > KEPT_BYTES:
                self._runners.popitem(last=False)
            self._runners[shape] = Runner(self._weights, *shape, self._stops)
        self._runners.move_to_end(shape)
        return self._runners[shape]

    def _cut(self, ids: list[int], logprobs: list[float]) -> tuple[list[int], list[float], bool]:
        """Up to the first token that ends an answer, which belongs to it."""
        for place, token in enumerate(ids):
            if token in self._stops:
                return ids[: place + 1], logprobs[: place + 1], True
        return ids, logprobs, False
