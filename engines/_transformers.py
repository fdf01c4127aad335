"""Fence in private and undocumented parts of transformers, accelerate and torch; no other file names any.

There is one function per part, which states the tested version. `tests/engines/test_transformers_contract.py` checks
that the part exists and behaves as we rely on; `make test-upstream` does so against the newest versions. Imports are
inside the functions, so that code that needs no torch does not load it.

Some engines rely on behavior that the documentation of transformers does not promise, without a private name: the order
in which `generate` of Whisper finds the next `generate` (asr/whisper), stopping criteria per row (asr/checkpoint), the
keys and values in the layers of a cache (_shared/checkpoint_writer), `get_audio_features` and `input_modalities`
(_shared/encodings, core/checkpoints). The same contract tests cover it.
"""

from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

#: Logger and text of a warning about arguments that Whisper's own code gives to `generate` (transformers 5.23). A run
#: with a speech system hides it by these two; no option of transformers turns off this warning alone.
WHISPER_NOISE = ("transformers.generation.utils", "Passing `generation_config` together with")


def default_sampling() -> Mapping[str, Any]:
    """Return the values of `generate` for settings that neither the user nor the checkpoint gives.

    `GenerationConfig._get_default_generation_params` of transformers 5.23. A public `GenerationConfig()` has None for
    every such setting; the values are filled in inside `generate`.
    """
    from transformers import GenerationConfig

    return GenerationConfig._get_default_generation_params()


def whisper_language_codes() -> Mapping[str, str]:
    """Return the code of each language by its lower-case English name, as Whisper's `language` option accepts it.

    `TO_LANGUAGE_CODE` of transformers 5.23, undocumented. Whisper's public `generate` checks a language only after the
    weights are loaded.
    """
    from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

    return TO_LANGUAGE_CODE


def whisper_text_rules() -> tuple[Callable[[], Callable], Callable[[Mapping[str, str]], Callable], Callable[..., str]]:
    """Return the classes of Whisper's basic and of its English text normalizer, and what both do with symbols.

    `transformers.models.whisper.english_normalizer` of transformers 5.23, undocumented. The public way is a method of a
    loaded Whisper tokenizer, and scoring loads none. The file is read by itself, since importing its package takes two
    seconds of processor time.
    """
    package = find_spec("transformers")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("transformers")
    name, rules = "english_normalizer", ModuleType("english_normalizer")
    file = Path(package.origin).parent / "models" / "whisper" / f"{name}.py"
    SourceFileLoader(name, str(file)).exec_module(rules)
    return rules.BasicTextNormalizer, rules.EnglishTextNormalizer, rules.remove_symbols_and_diacritics


def load_with_speakers(model_class: Any, path: str, speakers: str, **options: Any) -> Any:
    """Return an omni model with the speakers of a file of its checkpoint, as `from_pretrained` returns it.

    `from_pretrained` of `Qwen2_5OmniForConditionalGeneration` of transformers 5.23 loads the file itself, but fails if
    the option `output_loading_info` is given. The method of its base class is called here, then `load_speakers`.
    """
    from transformers import PreTrainedModel
    from transformers.utils import cached_file

    model, loading_info = PreTrainedModel.from_pretrained.__func__(model_class, path, **options)
    model.load_speakers(cached_file(path, speakers, revision=options.get("revision", "main")))
    return model, loading_info


def is_bad_fork(torch: Any) -> bool:
    """Return True for a process that was forked after an accelerator was used, and so cannot use one.

    `_is_in_bad_fork` of `torch.cuda` and `torch.xpu`, torch 2.13. The public functions raise an error only when a
    tensor goes to the device.
    """
    return torch.cuda._is_in_bad_fork() or torch.xpu._is_in_bad_fork()
