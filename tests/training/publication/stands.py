"""What publication is tested against: a tiny model on both sides, and a server that can be made to lie.

The tiny model is a random Llama. Served by llama.cpp it is a real GGUF file, written here; served "by vLLM" it
is torch in bfloat16 behind vLLM's routes, so that the offset between the stacks is real, and faults can be put in.
"""

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

from pointwork.training.bases import tiny_llama
from pointwork.training.lora import Lora
from pointwork.training.model import LocalModel
from pointwork.training.publication.gguf_lora import CONFIG, WEIGHTS, permuted
from pointwork.training.publication.target import Probe
from pointwork.training.sampling import sample

VOCABULARY = 160
HEADS = 4
FORM = Lora(rank=4, alpha=8)
STOPS = frozenset(range(20))


def tiny_model(lora: bool = True) -> LocalModel:
    """The base, always the same, with weights large enough that texts differ."""
    module = tiny_llama(VOCABULARY, hidden=64, layers=2, heads=HEADS)
    with torch.no_grad():
        for name, value in module.named_parameters():
            if value.dim() == 2:
                value.mul_(4 if "embed" not in name else 20)
    return LocalModel(module, None, name="tiny", lora=FORM if lora else None, device="cpu")


def tiny_probes(count: int = 24, seed: int = 5) -> list[Probe]:
    """Random texts."""
    rng = np.random.default_rng(seed)
    draw = rng.integers(3, VOCABULARY, (count, 30)).tolist()
    return [Probe(tuple(row[:6]), tuple(row[6:])) for row in draw]


def move(model: LocalModel, size: float, seed: int) -> None:
    """A step of the adapter, in a random direction."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.trained().items():
            if "lora_B" in name:
                value.add_(torch.randn(value.shape, generator=generator) * size)


def adapter(folder: Path, *steps: tuple[float, int]) -> Path:
    """An adapter on disk, some steps from nothing."""
    model = tiny_model()
    for size, seed in steps:
        move(model, size, seed)
    model.save(folder)
    return folder


def write_tiny_gguf(path: Path, hf: Path) -> None:
    """The tiny base as llama.cpp loads it, and its ``config.json`` for the adapter's writer."""
    model = tiny_model(lora=False).module
    config = model.config
    hf.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(hf)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"t{number}" for number in range(VOCABULARY)])
    writer.add_token_types([3, 3, 3] + [1] * (VOCABULARY - 3))
    writer.add_token_merges(["t 1"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    names = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    names |= {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}
    names |= {"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}
    names |= {"mlp.down_proj": "ffn_down"}
    for name, value in model.state_dict().items():
        array = value.detach().float().numpy()
        if name == "lm_head.weight":
            continue
        if name == "model.embed_tokens.weight":
            writer.add_tensor("token_embd.weight", array)
        elif name == "model.norm.weight":
            writer.add_tensor("output_norm.weight", array)
        else:
            _, _, layer, rest = name.split(".", 3)
            inner = rest.removesuffix(".weight")
            if inner == "self_attn.q_proj":
                array = permuted(array, config.num_attention_heads)
            elif inner == "self_attn.k_proj":
                array = permuted(array, config.num_key_value_heads)
            writer.add_tensor(f"blk.{layer}.{names[inner]}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class FakeVllm:
    """vLLM's routes over torch in bfloat16.

    Attributes:
        fault: what goes wrong from now on: ``ignored`` (takes an adapter and serves the base), ``stale`` (serves
            what it loaded before), ``doubled`` (alpha), ``partial`` (the first layer only), ``other`` (a random
            one), ``refused``, ``mute`` (answers without token ids); None: nothing.
        loads: how often an adapter was loaded. drawn: how often it was asked to write.
    """

    def __init__(self) -> None:
        self.fault: str | None = None
        self.loads = 0
        self.drawn = 0
        self._model = tiny_model()
        self._model.stop_ids = STOPS
        self._model.module.to(torch.bfloat16)
        self._adapters: dict[str, dict[str, torch.Tensor] | None] = {}
        self._lock = threading.Lock()
        stand = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer(200, {"data": stand.listed()})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(*stand.post(self.path, body))

            def _answer(self, status: int, reply: Any) -> None:
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def restart(self) -> None:
        """Forget all adapters, as a restarted server does."""
        self._adapters.clear()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def listed(self) -> list[dict[str, Any]]:
        return [{"id": "tiny", "parent": None}, *({"id": name, "parent": "tiny"} for name in self._adapters)]

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        with self._lock:
            if path == "/v1/load_lora_adapter":
                return self._load(body["lora_name"], Path(body["lora_path"]))
            if path == "/v1/unload_lora_adapter":
                known = self._adapters.pop(body["lora_name"], False) is not False
                return (200, {}) if known else _missing(body["lora_name"])
            if body["model"] != "tiny" and body["model"] not in self._adapters:
                return _missing(body["model"])
            if path == "/v1/chat/completions":
                usage = {"prompt_tokens": 3, "completion_tokens": 1}
                said = {"message": {"content": f"by {body['model']}"}, "finish_reason": "stop"}
                return 200, {"choices": [said], "usage": usage}
            if "return_token_ids" in body:
                return 200, {"choices": self._draw(self._adapters.get(body["model"]), body)}
            return 200, {
                "choices": [{"prompt_logprobs": self._score(self._adapters.get(body["model"]), body["prompt"])}]
            }

    def _load(self, name: str, folder: Path) -> tuple[int, Any]:
        if name in self._adapters:
            return 400, {"error": {"message": f"The lora adapter '{name}' has already been loaded."}}
        if self.fault == "refused" or not (folder / WEIGHTS).is_file():
            return 404, {"error": {"message": f"Loading lora {name} failed: No adapter found for {folder}"}}
        self.loads += 1
        weights = self._read(folder)
        if self.fault == "stale":
            weights = next(reversed(self._adapters.values()), None)
        elif self.fault == "ignored":
            weights = None
        elif self.fault == "doubled":
            weights = {key: value * (2 if "lora_B" in key else 1) for key, value in weights.items()}
        elif self.fault == "partial":
            weights = {key: value * (0 if "layers.1" in key else 1) for key, value in weights.items()}
        elif self.fault == "other":
            generator = torch.Generator().manual_seed(99)
            size = max(float(value.std()) for key, value in weights.items() if "lora_B" in key)
            weights = {
                key: torch.randn(value.shape, generator=generator) * size if "lora_B" in key else value
                for key, value in weights.items()
            }
        self._adapters[name] = weights
        return 200, {}

    def _read(self, folder: Path) -> dict[str, torch.Tensor]:
        self._model.restore(folder)
        alpha = json.loads((folder / CONFIG).read_text())["lora_alpha"]
        return {
            key: value.detach().clone() * (alpha / FORM.alpha if "lora_B" in key else 1)
            for key, value in self._model.trained().items()
        }

    def _wear(self, weights: dict[str, torch.Tensor] | None) -> None:
        for key, value in self._model.trained().items():
            if weights is not None:
                value.copy_(weights[key])
            elif "lora_B" in key:
                value.zero_()

    def _draw(self, weights: dict[str, torch.Tensor] | None, body: dict[str, Any]) -> list[dict[str, Any]]:
        with torch.no_grad():
            self._wear(weights)
        self.drawn += 1
        asked = {"n": body["n"], "max_tokens": body["max_tokens"], "temperature": body["temperature"]}
        answers = sample(self._model, body["prompt"], seed=self.drawn, **asked)
        rows: list[dict[str, Any]] = [
            {
                "index": place,
                "token_ids": None if self.fault == "mute" else answer.ids,
                "logprobs": {"token_logprobs": answer.logprobs},
                "finish_reason": "stop" if answer.ended else "length",
            }
            for place, answer in enumerate(answer for several in answers for answer in several)
        ]
        return rows[::-1]  # nobody says that they come in order

    def _score(self, weights: dict[str, torch.Tensor] | None, ids: list[int]) -> list[Any]:
        with torch.no_grad():
            self._wear(weights)
            logits = self._model.causal(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        rows: list[Any] = [None]
        rows += [{str(token): {"logprob": float(logits[place, token])}} for place, token in enumerate(ids[1:])]
        return rows


def _missing(name: str) -> tuple[int, Any]:
    return 404, {"error": {"message": f"The model `{name}` does not exist.", "code": 404}}


def copied(source: Path, target: Path) -> Path:
    """A copy of an adapter, to be spoilt."""
    shutil.copytree(source, target)
    return target
