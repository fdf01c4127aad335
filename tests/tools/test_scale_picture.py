from pathlib import Path
from xml.etree import ElementTree

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.tools.scale_picture import SCHEMES, draw, main, place

PICTURES = Path(__file__).parents[2] / "docs" / "images"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def make_system(name, siq, z, control=None):
    categories = {level: {"z": value} for level, value in zip(("remember", "understand", "apply"), z, strict=True)}
    return {
        "system": name,
        "siq": siq,
        "siq_interval": [siq - 2, siq + 2],
        "control": control,
        "categories": categories,
    }


SCORES = {
    "systems": [
        make_system("demo:a<b+demo:llm", 110.0, (1.0, 1.0, 1.0)),
        make_system("silence+demo:llm", 80.0, (-1.0, 0.5, -2.0), "silence"),
        {"system": "x", "siq": None},
    ]
}


def test_a_system_is_drawn_at_its_siq_with_its_interval_and_a_bar_per_level():
    root = ElementTree.fromstring(draw(SCORES, SCHEMES["light"]))
    texts = [text.text for text in root.iter(f"{NAMESPACE}text")]
    assert "a<b" in texts and "no audio" in texts and "SIQ 80.0" in texts and "x" not in texts
    dots = [float(dot.get("cx")) for dot in root.iter(f"{NAMESPACE}circle")]
    assert dots == pytest.approx([place(110), place(80)], abs=0.1)
    bars = [bar.get("class") for bar in root.iter(f"{NAMESPACE}rect") if "interval" not in bar.get("class")]
    assert bars == ["above"] * 3 + ["below", "above", "below"]


def test_the_pictures_of_the_readme_are_alike_but_for_their_colors():
    light, dark = (PICTURES.joinpath(f"scale-{scheme}.svg").read_text(encoding="utf-8") for scheme in SCHEMES)
    for name, color in SCHEMES["light"].items():
        light = light.replace(color, SCHEMES["dark"][name])
    assert light == dark


def test_scores_without_an_siq_are_refused(tmp_path, monkeypatch):
    scores = tmp_path / "siq.json"
    scores.write_text('{"systems": [{"siq": null}]}', encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["scale_picture.py", str(scores), str(tmp_path)])
    with pytest.raises(SpeechIQError, match="no system has an SIQ; score three systems"):
        main()
