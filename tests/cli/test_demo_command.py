"""Test the systems that `siq demo run` chooses; the run itself is in `tests/test_demo.py`."""

from speechiq.cli import demo
from speechiq.cli.demo import SYSTEMS


def test_a_model_from_its_second_source_runs_under_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    for name in ("whisper-base", "whisper-tiny.en-hub", "SmolLM2-135M-Instruct-hub"):
        folder = tmp_path / "cache" / "models" / name
        folder.mkdir(parents=True)
        folder.joinpath("config.json").write_text("{}")
    systems, metadata = demo.choose_models()
    llm = "demo:SmolLM2-135M-Instruct-hub"
    recognizers = ("demo:whisper-base", "demo:whisper-tiny.en-hub", "pocketsphinx:en-us", "gold", "silence")
    assert systems == [f"{recognizer}+{llm},llm_answer=likelihood" for recognizer in recognizers]
    assert metadata == [f"embedder={llm}"]
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "empty"))
    assert demo.choose_models() == ([f"{system},llm_answer=likelihood" for system in SYSTEMS], [])
