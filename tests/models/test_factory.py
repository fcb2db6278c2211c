"""From a spec to a client, and what importing costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from pointwork.errors import ConfigError, UsageError
from pointwork.models import open_client
from pointwork.models.embedded import EmbeddedClient
from pointwork.models.litellm_client import LiteLLMClient
from pointwork.models.openai_http import OpenAIClient
from pointwork.models.protocol import Price


def test_specs() -> None:
    local = open_client("local:")
    assert isinstance(local, EmbeddedClient)
    assert local.name == "SmolLM2-135M-Instruct"
    assert isinstance(open_client("local:SmolLM2-135M-Instruct", parallel=2), EmbeddedClient)
    url = open_client("http://127.0.0.1:8000/v1#org/a%20model", price=Price(1, 2))
    assert isinstance(url, OpenAIClient)
    assert (url.name, url.price) == ("org/a model", Price(1, 2))
    hosted = open_client("gpt-4o-mini", api_key="sk-1234567890")
    assert isinstance(hosted, LiteLLMClient)
    assert hosted.price == Price(0.15, 0.6)
    assert "sk-1234567890" not in repr(hosted)
    assert open_client("ollama/some-model").price == Price()
    assert open_client("openai/unheard-of", price=Price(0, 1)).price == Price(0, 1)


def test_gguf_by_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    assert open_client(f"local:{file}").name == "mine"


@pytest.mark.parametrize("spec", ["", "   ", "nonsense", "two words", "local:/not/there.gguf", "local:nonsense"])
def test_unknown_specs_list_the_forms(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"local:/path/to/model\.gguf"):
        open_client(spec)


def test_bad_options_and_unknown_prices() -> None:
    with pytest.raises(ConfigError, match="colour"):
        open_client("local:", colour="red")
    with pytest.raises(ConfigError, match="usd_per_mtok"):
        open_client("openai/unheard-of")
    with pytest.raises(UsageError):
        open_client("local:", context=1)


def test_importing_models_is_light() -> None:
    code = (
        "import sys, pointwork.models; from pointwork.models import ChatRequest, Price; "
        "heavy = {'httpx2', 'httpx', 'litellm', 'xllamacpp', 'openai', 'torch', 'tiktoken', 'sqlalchemy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_public_names_all_resolve() -> None:
    import pointwork.models as models

    for name in set(models.__all__) - {"Caller", "Models"}:
        assert getattr(models, name) is not None
    with pytest.raises(AttributeError):
        getattr(models, "nothing")  # noqa: B009


def test_the_larger_embedded_model_has_a_short_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POINTWORK_CACHE", str(tmp_path))  # nothing is pulled, nothing is loaded
    large, small = open_client("local:large"), open_client("local:")
    assert (large.name, small.name) == ("Qwen2.5-Coder-1.5B-Instruct", "SmolLM2-135M-Instruct")
    assert isinstance(large, EmbeddedClient)
    assert isinstance(small, EmbeddedClient)
    assert (large.small, small.small) == (False, True)
    assert not large.plans  # it is below the size from which a model plans better than rules
    assert not small.plans
    with pytest.raises(ConfigError, match="small, large, SmolLM2"):
        open_client("local:huge")
