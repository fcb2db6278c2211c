"""pointwork.toml: defaults, and errors that name file, line and key."""

from pathlib import Path

import pytest

from pointwork.errors import ConfigError
from pointwork.memory import modules
from pointwork.router import policies
from pointwork.settings import EMBEDDED, MODULES, POLICIES, TIERS, Settings, load


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pointwork.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_configured_is_the_embedded_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load().model_for("planner").model == EMBEDDED


def test_a_key_in_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    small, large = load().model_for("worker-small"), load().model_for("worker-large")
    assert small.model.startswith("openai/")
    assert small.model != large.model
    assert "sk-secret" not in repr(small)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '[models.worker-small]\nmodel = "http://127.0.0.1:8000/v1#m"\nusd_per_mtok = [0.1, 0.4]\n'
        '[budget]\nusd = 0.05\n[router]\npolicy = "static"\n'
        '[[agents]]\nname = "poet"\ninstructions = "Write verse."\ncapabilities = ["verse"]\n',
    )
    settings = load(path)
    assert settings.model_for("judge").model == "http://127.0.0.1:8000/v1#m"
    assert settings.default_budget().usd == 0.05
    assert settings.router.policy == "static"
    assert settings.agents[0].name == "poet"


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("[run]\nmax_turns = 0\n", 2, "run.max_turns"),
        ("\n\n[run]\njudge = true\nmax_turn = 3\n", 5, "run.max_turn"),
        ('[models.planner]\nmodel = ""\n', 2, "models.planner.model"),
        ('[models.chef]\nmodel = "local:"\n', 1, "models.chef"),
        ("[budget]\nusd = -1\n", 1, "budget"),
        (
            '[[agents]]\nname = "a"\ninstructions = ""\ncapabilities = []\n[[agents]]\nname = 5\n',
            6,
            "agents.1.name",
        ),
        ("router.policy = 5\n", 1, "router.policy"),
        ('[router]\nseed = 3\npolicy = "nope"\n', 3, "router.policy"),
        ('[memory]\ntiers = "nope"\n', 2, "memory.tiers"),
        ('[memory]\ntiers = {filter = "nope"}\n', 2, "memory.tiers"),
        ('[memory]\ntiers = {nope = "mid"}\n', 2, "memory.tiers"),
        ("colour = 1\n", 1, "colour"),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert f"{path}:{line}: {key}" in str(caught.value)


def test_a_file_may_name_all_that_there_is() -> None:
    assert set(POLICIES) == set(policies.POLICIES)
    assert (MODULES, TIERS) == (modules.MODULES, modules.TIERS)


def test_what_is_not_toml_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 2"):
        load(write(tmp_path, "[run]\nmax_turns = = 3\n"))
    with pytest.raises(ConfigError, match="can not read"):
        load(tmp_path / "absent.toml")
    (tmp_path / "pointwork.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(tmp_path / "pointwork.toml")


def test_settings_can_be_made_in_python() -> None:
    assert Settings.model_validate({"planner": {"mode": "rules"}}).planner.mode == "rules"
