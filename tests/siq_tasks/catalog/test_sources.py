"""`siq data check NAME` and `siq doctor --tasks NAME`: whether the Hub has what tasks read, and in which version."""

import json
import os

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.checkpoints.names import notice_offline
from speechiq.core.console import ERROR
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders.rows import RowSource, open_rows
from tests.commands import refusal, siq
from tests.conftest import run
from tests.loopback_hub import STRANGER, TOKEN, reach, serve
from tests.siq_tasks.conftest import encode, write_table
from tests.siq_tasks.hub_cards import write_card

NAME = "AudioLLMs/dream_tts_mcq_test"
READ = "context, instruction, choices, answer"
COLUMNS = {"instruction": ["Who?"] * 2, "choices": ["(A) Ann (B) Bo"] * 2, "answer": ["A", "B"]}


@pytest.fixture
def hub(monkeypatch, tmp_path, own_cache):
    """A hub with the set of one task, whose card states nothing."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    folder = tmp_path / "repository"
    write_table(folder / "data" / "test-00000-of-00001.parquet", COLUMNS, {"context": [encode(1.0), encode(1.1)]})
    with serve() as hub:
        reach(hub.address, monkeypatch)
        hub.add(NAME, folder)
        yield hub


def check(name, *settings):
    """Check a data set that is not as it should be, and return the line that says so."""
    options = [part for setting in settings for part in ("--metadata", setting)]
    done = CliRunner().invoke(app, ["data", "check", name, *options])
    (line,) = [line for line in done.stderr.splitlines() if line.startswith(ERROR)]
    assert done.exit_code == 1
    return line.removeprefix(ERROR)


def test_one_request_is_enough_where_the_card_states_the_columns(hub):
    write_card(hub.repositories[NAME])
    hub.requests.clear()
    line = siq("data", "check", "audiobench_dream")
    assert line == (f"dream: {NAME} (test) at 111111111111, 2 rows, with {READ}\n")
    assert [request for request in hub.requests if "agent" not in request] == [f"GET /api/datasets/{NAME}"]


def test_the_footer_of_parquet_has_the_columns_that_no_card_states(hub):
    line = siq("data", "check", "audiobench_dream")
    assert line == f"dream: {NAME} (test) at 111111111111, with {READ}\n"
    (read,) = (request for request in hub.requests if request.endswith(".parquet"))
    assert read.startswith("GET") and hub.sent < 70_000


@pytest.mark.parametrize(("split", "rows"), [("test+dev", ", 3 rows"), ("test[:1]+dev", ""), ("all", "")])
def test_a_split_may_be_a_part_or_join_several(hub, tmp_path, split, rows):
    file = tmp_path / "repository" / "data" / "dev-00000-of-00001.parquet"
    write_table(file, {name: values[:1] for name, values in COLUMNS.items()}, {"context": [encode(1.2)]})
    hub.add(NAME, tmp_path / "repository")
    assert f" at 111111111111, with {READ}\n" in siq("data", "check", "dream", "--metadata", f"split={split}")
    write_card(hub.repositories[NAME])
    line = siq("data", "check", "dream", "--metadata", f"split={split}")
    assert line == f"dream: {NAME} ({split}) at 111111111111{rows}, with {READ}\n"
    assert "no split 'dve'; it has dev, test; did you mean dev?" in check("dream", "split=test+dve[1:]")


FAULTS = {
    "config": ("dataset_name=defaults", "no configuration 'defaults'; it has default; did you mean default? give"),
    "split": ("split=tset", "no split 'tset'; it has test; did you mean test? give --metadata split=..."),
    "column": (
        "choices_column=choice",
        "no column 'choice'; it has instruction, choices, answer, context; did you",
    ),
    "revision": ("dataset_revision=mainn", "no revision 'mainn'; it has main; did you mean main? give --metadata"),
    "missing": (f"dataset_path={NAME}s", f"no such data set on the Hub, or a private one; did you mean {NAME}? if it"),
    "name": ("dataset_path=a/b/c", "neither a name on the Hub nor a folder; correct dataset_path"),
}


@pytest.mark.parametrize(("setting", "message"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("stated", [True, False])
def test_what_the_hub_does_not_have_is_named_with_the_nearest(hub, setting, message, stated):
    if stated:
        write_card(hub.repositories[NAME])
    assert message in check("audiobench_dream", setting)


@pytest.mark.parametrize("key", ["config", "split", "revision", "missing"])
def test_a_run_says_the_same_as_the_check(hub, key):
    setting, message = FAULTS[key]
    field, _, value = setting.partition("=")
    source = RowSource(**{"dataset_path": NAME, "audio_column": "context", "text_column": None} | {field: value})
    with pytest.raises(SpeechIQError) as refused, open_rows(source):
        pass
    assert message in str(refused.value)


def test_a_gated_set_says_how_to_get_access(hub, monkeypatch):
    hub.repositories[NAME].gated = "auto"
    terms = f"accept its terms on {hub.address}/datasets/{NAME}"
    line = check("dream")
    assert f"{NAME}: gated, and no token is on this machine; {terms}, then make a token on {hub.address}" in line
    assert line.endswith("and run hf auth login, or set HF_TOKEN")
    monkeypatch.setenv("HF_TOKEN", STRANGER)
    assert check("dream").endswith(f"{NAME}: gated, and the account of your token has no access; {terms}")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert f"with {READ}" in siq("data", "check", "dream")


def test_a_set_that_was_renamed_is_found_and_named(hub):
    hub.repositories["AudioLLMs/dream"] = hub.repositories[NAME]
    hub.add(NAME, {}, moved_to="AudioLLMs/dream")
    assert f"{NAME}, which is named AudioLLMs/dream now, (test) at" in siq("data", "check", "dream")


def test_a_script_set_and_unreadable_cards(hub):
    hub.add(NAME, {"dream_tts_mcq_test.py": b""})
    assert "its rows come from a script, which `datasets` does not run; try --metadata dataset_revision=" in check(
        "dream"
    )
    card = b"---\nconfigs: wrong\ndataset_info: {features: 5}\n---\n"
    hub.add(NAME, {"README.md": card})
    assert check("dream").startswith(f"dream: {NAME}: ")


def test_files_that_are_not_parquet_are_not_downloaded(hub):
    hub.add(NAME, {"data/test.jsonl": b'{"context": "a.wav"}\n'})
    assert "at 111111111111; its columns are found when it is loaded\n" in siq("data", "check", "dream")
    assert not any(request.endswith(".jsonl") for request in hub.requests)


def test_a_hub_that_cannot_be_reached_is_one_line(hub, monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    line = refusal("data", "check", "audiobench")
    assert line.startswith("the hub (http://127.0.0.1:9): gives no answer (")
    assert line.endswith("check network and proxy, or give a local copy with --metadata dataset_path=FOLDER")


def test_a_hub_that_never_answers_is_not_waited_for(hub, monkeypatch, silent_server):
    reach(silent_server, monkeypatch)
    monkeypatch.setattr("speechiq.siq_tasks.loaders.hub_sets.PATIENCE", 0.1)
    assert refusal("data", "check", "dream").startswith(f"the hub ({silent_server}): gives no answer (")


@pytest.mark.parametrize(("status", "fix"), [(503, "try again later"), (429, "try again later"), (401, "is not valid")])
def test_an_error_of_the_hub_is_shown_with_its_number(hub, status, fix):
    hub.failure = status
    line = check("dream")
    assert fix in line and (f"the Hub answers with the error {status}" in line)


def test_sets_that_are_not_on_the_hub_say_where_they_are(hub, tmp_path, monkeypatch):
    assert siq("data", "check", "siq_demo") == "demo: its clips are in the package\n"
    assert not hub.requests
    monkeypatch.chdir(tmp_path)
    assert "oasst/metadata.jsonl': no such file" in check("siq_oasst")
    (tmp_path / "audio").mkdir()
    tmp_path.joinpath("audio", "a.wav").write_bytes(encode(1.0))
    tmp_path.joinpath("texts.csv").write_text("audio,text\na.wav,Good morning.\n")
    siq("data", "new", "calls", "--audio", "audio", "--text", "texts.csv")
    source = f"dataset_path={tmp_path / 'repository'}"
    line = siq("data", "check", "dream", "--metadata", source)
    assert line == f"dream: {tmp_path / 'repository'} on this machine, with {READ}\n"
    assert "no split 'tset'; it has test; did you mean" in check("dream", source, "split=tset")
    assert f"{tmp_path / 'nowhere'}: no such folder" in check("dream", f"dataset_path={tmp_path / 'nowhere'}")
    assert siq("data", "check", "calls").endswith("clips.jsonl on this machine: 1 row, with audio, text, id\n")
    tmp_path.joinpath("calls", "audio", "a.wav").write_bytes(encode(1.0, silent=True))
    assert siq("data", "check", "calls").endswith("; 1 of 1 clips, 'audio/a.wav' among them: it is digital silence\n")
    tmp_path.joinpath("calls", "audio", "a.wav").write_bytes(encode(1.0)[:-10_000])
    assert "clips.jsonl row 1, audio/a.wav: cut off or damaged: it promises" in check("calls")


def test_a_group_is_checked_to_its_end_and_counted(hub):
    done = CliRunner().invoke(app, ["data", "check", "audiobench_sqa"])
    assert f"{ERROR}cn_college: AudioLLMs/cn_college_listen_mcq_test: no such data set on the Hub" in done.stderr
    assert f"dream: {NAME} (test) at 111111111111" in done.stdout and len(done.stderr.splitlines()) == 4
    assert done.exit_code == 1 and "1 of 5 data sets have what their tasks read\n" in done.stdout


def test_the_doctor_lists_the_sets_of_a_group(hub):
    content = json.loads(siq("doctor", "--tasks", "audiobench_sqa", "--json"))
    states = {each["name"]: each for each in content["findings"] if each["topic"] == "Data sets"}
    assert len(states) == 5 and states["dream"]["state"] == "ok" and NAME in states["dream"]["detail"]
    assert (states["cn_college"]["state"], content["ok"]) == ("note", True)
    assert "if it is private, make a token" in states["cn_college"]["fix"]


def test_the_command_asks_the_hub_of_the_environment(hub):
    write_card(hub.repositories[NAME])
    done = run("siq", "data", "check", "dream", env=os.environ | {"HF_ENDPOINT": hub.address, "no_proxy": "*"})
    assert done.returncode == 0 and "2 rows, with context" in done.stdout, done.stderr


FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture
def commits(monkeypatch):
    """Serve a data set; the dictionary has the commit of each revision."""
    with serve() as hub:
        reach(hub.address, monkeypatch)
        yield hub.add("org/set", {}, revisions={"main": FIRST}).revisions
    notice_offline.cache_clear()


def test_the_commit_of_a_revision_is_found(commits, tmp_path):
    commits["v2"] = SECOND
    assert RowSource(dataset_path="org/set").find_commit() == FIRST
    assert RowSource(dataset_path="org/set", dataset_revision="v2").find_commit() == SECOND
    assert RowSource(dataset_path="org/other").find_commit() is None
    assert RowSource(dataset_path=str(tmp_path)).find_commit() is None


def test_a_new_upload_is_named_with_both_versions(commits):
    source = RowSource(dataset_path="org/set")
    assert source.describe_new_version("calls", FIRST) is None
    commits["main"] = SECOND
    line = source.describe_new_version("calls", FIRST)
    assert line.startswith("calls: org/set has a new version on the hub, 222222222222; this run uses 111111111111")
    assert line.endswith(f"--metadata dataset_revision={SECOND}")
    assert RowSource(dataset_path="org/set", dataset_revision="v1").describe_new_version("calls", FIRST) is None
    assert source.describe_new_version("calls", None) is None


def test_a_hub_that_does_not_answer_is_no_obstacle(monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    assert RowSource(dataset_path="org/set").find_commit() is None
    notice_offline.cache_clear()
