"""Test the suites that model cards quote: run by a cascade on small copies of their cards, scored, and grouped."""

import importlib.util
import json

import pytest

from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.siq_tasks.index import list_tasks
from speechiq.siq_tasks.loaders import bundled
from tests.cards.tables import names, read_card, write_card
from tests.commands import siq
from tests.runs import evaluate

pytestmark = pytest.mark.slow

FILES = sorted(
    (bundled.DEMO.parent / "wildspeech" / "demo" / "clips").glob("*.ogg"), key=lambda file: file.stat().st_size
)
REGIONS = ["aus", "gbr", "ind_n", "ind_s", "irl", "kenya", "nga", "nzl", "phl", "usa", "zaf"]
#: Nine regions, which are as the others, and IFEval if the packages of its checks are not installed.
LEFT_OUT = {
    f"voicebench_sd_qa_{region}" for region in ["gbr", "ind_n", "ind_s", "irl", "kenya", "nga", "nzl", "phl", "usa"]
}
if not (importlib.util.find_spec("langdetect") and importlib.util.find_spec("immutabledict")):
    LEFT_OUT.add("voicebench_ifeval")


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Suite -> a local copy of its card's schema, with speech."""
    audio = [file.read_bytes() for file in FILES[:8]]
    return {name: write_card(tmp_path_factory.mktemp(name), read_card(name), audio) for name in names()}


@pytest.fixture(scope="module")
def runs(hub, tiny_cascade, tmp_path_factory):
    """The runs of a tiny cascade on every suite, and their rows."""
    folder = tmp_path_factory.mktemp("runs")
    model, rows = HFAudio(pretrained=tiny_cascade.spec, device="cpu", store="off"), {}
    for suite, path in hub.items():
        tasks = {task.name for task in list_tasks(check_files=False) if task.suite == suite} - LEFT_OUT
        about = {"dataset_path": path}
        found = evaluate(model, tasks, output=folder, metadata=about, gen_kwargs={"max_gen_toks": 8})
        rows[suite] = found["samples"]
    return folder, rows


def test_every_suite_is_scored_by_its_measures(runs, tmp_path):
    folder, rows = runs
    file = tmp_path / "scores.json"
    siq("score", folder, "--bootstrap", 0, "-o", file)
    scores = json.loads(file.read_text())["suites"]
    assert scores.keys() == rows.keys()
    categories = list(scores["voicebench"]["measures"])
    assert categories[:4] == ["alpacaeval", "commoneval", "wildvoice", "sd_qa"] and categories[-1] == "advbench"
    assert "average" in scores["bigbenchaudio"]["derived"] and "bbh" in scores["voicebench"]["derived"]


def test_guesses_count_for_every_answer_without_a_letter(runs, tmp_path):
    folder, rows = runs
    file = tmp_path / "scores.json"
    siq("score", folder, "--bootstrap", 0, "--metrics", "choice=acc_guess", "-o", file)
    chosen = [row for suite in ("mmsu", "mmau", "mmar") for row in next(iter(rows[suite].values()))]
    assert len(chosen) == 9 and all({"acc", "acc_guess", "unparsed"} <= row.keys() for row in chosen)
    for row in chosen:
        expected = 1 / len(row["doc"]["options"]) if row["unparsed"] else row["acc"]
        assert row["acc_guess"] == expected


def test_regions_are_groups_of_one_table(runs):
    table = siq("score", runs[0], "--bootstrap", 0, "--group-by", "region")
    assert "Voicebench" in table or "voicebench" in table
    assert all(region in table.lower() for region in ("aus", "zaf"))
