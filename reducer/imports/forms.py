"""List the forms of outputs, and name the one that a file has."""

from collections.abc import Sequence
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists
from speechiq.core.suggestions import suggest
from speechiq.reducer.imports import (
    audiobench,
    harness_samples,
    kaldi,
    manifests,
    table,
    timed_words,
    voicebench,
)
from speechiq.reducer.imports.rows import Form

#: Name -> form, in the order of their help.
FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        table.FORM,
        manifests.OPENASR,
        manifests.NEMO,
        kaldi.FORM,
        timed_words.CTM,
        timed_words.STM,
        harness_samples.LM_EVAL,
        harness_samples.LMMS_EVAL,
        voicebench.FORM,
        audiobench.FORM,
    )
}


def choose_form(name: str, paths: Sequence[Path]) -> Form:
    """Return a form by its name; refuse an unknown one, a missing file, and a file that is of another form."""
    if name not in FORMS:
        raise SpeechIQError(f"form {name!r:.80}", "unknown", suggest(name, FORMS))
    form = FORMS[name]
    for path in paths:
        if not exists(path):
            raise SpeechIQError(path, "no such file", "correct the path")
        _refuse_other_form(form, path)
    return form


def _refuse_other_form(form: Form, path: Path) -> None:
    """Refuse a file of another form; one of no form is left to the reader of this form, which says what it lacks."""
    if form.fits(path):
        return
    others = [name for name, other in FORMS.items() if other.fits(path)]
    if others:
        raise SpeechIQError(path, f"not of the form {form.name}", f"write siq import {' or '.join(others)}")
