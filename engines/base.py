"""Define the protocols of engines: an engine runs one stage of a system with one library or service.

An engine subclasses the protocol of its kind, `ASREngine`, `TextEngine`, `AudioEngine`, `SpeechEngine` or
`ReplyEngine`, and implements the abstract methods; all other methods have defaults. The constructor checks options and
loads no weights; the methods that compute load them.

The methods that compute (`transcribe`, `generate`, `loglikelihood`, `speak`, `reply`) take all items of a run at once
and form batches themselves, usually by `speechiq.core.batches.run_in_batches`. They return one result per item, in the
order of the items. As soon as some items are done, they call `on_result(indices, results)`: the indices of these items,
and their results in the same order. The results are then in the response cache, and a run that stops can continue from
there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from msgspec import Struct

from speechiq.core.batches import OnResult, drop
from speechiq.core.checkpoints.opening import count_by_bytes
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.engines._transformers import whisper_language_codes
from speechiq.engines.languages import AUTO, list_alike
from speechiq.engines.options import Options

if TYPE_CHECKING:
    import torch

BatchSize = int | Literal["auto"]
Kind = Literal["asr", "text", "audio", "speech", "reply"]
#: Per prompt one seed per answer; all of one length.
Seeds = Sequence[Sequence[int]]
#: Kinds of systems: a recognizer with a language model, the same with a corrector between them, one audio model, and a
#: recognizer alone.
CASCADE, CORRECTED, END_TO_END, RECOGNIZER = "cascade", "cascade with correction", "end to end", "recognizer"
#: What processes no audio.
CONTROL = "control"
#: A person who took the test.
PERSON = "person"
SYSTEM_KINDS = (CASCADE, CORRECTED, END_TO_END, RECOGNIZER, CONTROL, PERSON)
#: Key of the description of an imported system with the kind that the user declared.
DECLARED = "declared_kind"


class Setup(Struct, frozen=True, kw_only=True):
    """Hold the settings of a run that every engine gets.

    Attributes:
        engine: name of the engine in the registry, or of a model type of lm-eval.
        prefix: prefix of the stage's options (`asr_`, `ger_`, `llm_`, `speaks_`, or empty), for errors.
        device: device on which the model runs.
        batch_size: items per batch; `auto` lets the engine choose.
        language: code of the language of the clips; None if their data set names none.
    """

    engine: str = ""
    prefix: str = ""
    device: str | torch.device = "cpu"
    batch_size: BatchSize = "auto"
    language: str | None = None

    def choose_language(self, option: str | None) -> str | None:
        """Return the language that a recognizer is given: by its option, else that of the clips; None without both.

        Raises:
            SpeechIQError: The option is not the language of the clips.

        >>> Setup(language="de").choose_language("auto"), Setup().choose_language("French")
        ('de', 'French')
        """
        if option in (None, AUTO):
            return self.language
        if self.language and whisper_language_codes().get(option.lower(), option) not in list_alike(self.language):
            name = f"{self.prefix}language"
            raise SpeechIQError(f"{name}={option}", f"the clips are in {self.language}", f"give {name}={AUTO}")
        return option


class Engine(Protocol):
    """Define what engines of all kinds have in common.

    Attributes:
        kind: the kind of stage that it runs; set by the protocols below.
        record: the class of its options; each field is an option that users can set.
        gives_nbest: whether it has the option `nbest`, the most transcripts in `Response.hypotheses`.
        streams: whether it times its answers (`core/usage.py`): each prompt runs inside `timed`, with its first seed.
        hears: whether it needs the sound of clips; if not, it runs on sets without audio.
    """

    kind: ClassVar[Kind]
    record: ClassVar[type[Options]] = Options
    gives_nbest: bool = False
    streams: bool = False
    hears: bool = True

    def __init__(self, model: str, options: Any, setup: Setup) -> None:
        """Check everything that can be checked without loading weights.

        Args:
            model: name of the model, as the user wrote it after `ENGINE:`; empty for an engine without models.
            options: an instance of `record`; types and limits of its fields are checked already.
            setup: of this run.

        Raises:
            SpeechIQError: a model, an option or an environment with which the engine cannot run: one line that names
                the thing, the value and the fix.
        """

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return the class that runs the model; by default this class.

        An engine with several classes returns the one for this model, so that options that only other classes have are
        refused; the given options are not yet checked. Its `option_records` then returns the records of all of them.

        Raises:
            SpeechIQError: a model that none of the classes runs.
        """
        return cls

    @classmethod
    def option_records(cls) -> tuple[type[Options], ...]:
        """Return the option records of all classes that `choose` may return, for help texts; by default `record`."""
        return (cls.record,)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the model, the version of the library and all options in effect, for the results file.

        Returns:
            JSON types only, and no secrets such as keys.
        """

    def count_parameters(self) -> int | None:
        """Return the number of parameters of the model, without loading it; None, the default, if it is not known."""
        return None

    def identity(self) -> dict[str, Any] | None:
        """Return everything that results depend on, except the items and the generation settings.

        It is part of the key of each row in the response cache: results of an equal identity are used again, so that a
        setting that is missing here leads to wrong results. Names of files are not enough if their content can change;
        `core/checkpoints/names.py` returns digests of a checkpoint.

        Returns:
            JSON types only, with the key `stage`: the kind of the engine. None, the default, if results should not be
            cached, because computing them costs nothing.
        """
        return None

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings that answers depend on, for their keys in the response cache; by default `settings`.

        An engine that fills in defaults of a library adds them, so that answers sampled by the defaults of another
        version are not used again.
        """
        return dict(settings)


class ASREngine(Engine, Protocol):
    """Define a speech recognizer.

    Attributes:
        is_random: whether its texts are sampled, and differ with its option `seed`.
    """

    kind: ClassVar[Kind] = "asr"
    is_random: bool = False

    @abstractmethod
    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip to its end, however long it is.

        Args:
            clips: `clip.samples` decodes a clip: float32, shape (samples,), mono, 16 kHz; `clip.duration` is in
                seconds.
            on_result: called with indices and results as soon as some clips are done; see the module.

        Returns:
            A transcript per clip. Its `coverage` is seconds that the model received / seconds of the clip, NaN if
            unknown. Its `hypotheses` are the n-best list, best first; empty if the engine has none.
        """


class Writer(Engine, Protocol):
    """Define what engines that generate text have in common: text engines and audio engines."""

    def has_loglikelihood(self) -> bool:
        """Return whether `loglikelihood` works; if not, a run with `answer=likelihood` is refused at its start.

        An engine may call its endpoint to find out.
        """
        return True

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which a loaded model may stay in memory from call to call.

        The block itself loads nothing. By default each call loads and frees the model.
        """
        return nullcontext()

    @abstractmethod
    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings by which `generate` samples, with defaults filled in, for the results file.

        Raises:
            SpeechIQError: a setting that the engine does not have, or an invalid value.
        """

    def check_sampling(self, settings: Mapping[str, Any]) -> None:
        """Refuse a model whose answers for several seeds would be the same; by default any model is accepted.

        An engine that cannot know it without asking its endpoint asks; no weights are loaded.

        Raises:
            SpeechIQError: the model does not sample.
        """


class TextEngine(Writer, Protocol):
    """Define a language model that reads text."""

    kind: ClassVar[Kind] = "text"

    @abstractmethod
    def generate(
        self, prompts: Sequence[TextPrompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt once per seed, in the model's chat template if it has one.

        Args:
            prompts: messages of a user. The first `prompt.shared` characters are the same in all prompts about a clip,
                so that an engine can prefill them once.
            seeds: per prompt one seed per answer; all of one length. A sampled answer depends only on its prompt, its
                seed and the settings, not on the batch.
            settings: generation settings of the task: `max_gen_toks` (tokens), `do_sample`, `temperature`, `top_k`, ...
                Without `do_sample` decoding is greedy. Stop sequences (`until`) are cut off later by the caller.
            on_result: called with indices and results as soon as some prompts are done; see the module.

        Returns:
            Per prompt one answer per seed.

        Raises:
            SpeechIQError: a prompt that, together with its answer, exceeds the model's context.
        """

    def attempt(
        self, prompts: Sequence[TextPrompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> Sequence[Sequence[str | SpeechIQError]]:
        """Answer like `generate`, but if only some answers fail, return their failures in their places.

        By default, as with models in memory, every failure ends the call. Failures that would repeat with every prompt,
        such as a refused key, always end it.
        """
        return self.generate(prompts, seeds, settings, on_result)

    @abstractmethod
    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, both as plain text.

        Args:
            prompts: plain text, which is not put into a chat template.
            continuations: per prompt one or more texts.
            on_result: called with indices and results as soon as some prompts are done; see the module.

        Returns:
            Per prompt and continuation the sum of the log-probabilities of its tokens (nats), and whether greedy
            decoding would write it.

        Raises:
            SpeechIQError: the model has no log-probabilities.
        """

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without special tokens; an upper bound if the tokenizer is unknown."""
        return count_by_bytes(text)


class AudioEngine(Writer, Protocol):
    """Define a language model that takes audio and text; it can also run the ASR stage of a cascade.

    Attributes:
        asks_in_words: whether a transcript depends on the text of its prompt, which is then part of its key in the
            response cache. False for models with a fixed transcription request.
    """

    kind: ClassVar[Kind] = "audio"
    asks_in_words: bool = True

    @abstractmethod
    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the one clip of each prompt to its end.

        Args:
            prompts: a clip and a text that asks for its transcript.
            on_result: called with indices and results as soon as some prompts are done; see the module.

        Returns:
            A transcript per prompt; see `ASREngine.transcribe`.
        """

    @abstractmethod
    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the audio coverage of each prompt.

        Returns:
            Per prompt the seconds that the model receives in `generate` / the seconds of all clips; NaN if unknown.
        """

    def check_text_alone(self) -> None:
        """Refuse a model that takes no prompt without audio; by default any model is accepted.

        No weights are loaded.

        Raises:
            SpeechIQError: the model takes no such prompt.
        """
        return

    @abstractmethod
    def generate(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt, with the audio of its clips, once per seed; see `TextEngine.generate`."""

    @abstractmethod
    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation as the start of an answer; see `TextEngine.loglikelihood`.

        Args:
            prompts: put into the model's chat template, also those without clips.
            continuations: per prompt one or more texts.
            on_result: called with indices and results as soon as some prompts are done; see the module.

        Raises:
            SpeechIQError: the model has no log-probabilities.
        """


class SpeechEngine(Engine, Protocol):
    """Define a voice, which speaks text: a text-to-speech model, a service or a program."""

    kind: ClassVar[Kind] = "speech"

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the models that this machine has, as a user writes them after `ENGINE:`; empty if they are unknown."""
        return []

    @abstractmethod
    def speak(self, texts: Sequence[str], seeds: Sequence[int], on_result: OnResult = drop) -> list[Clip]:
        """Speak each text once.

        Args:
            texts: any texts. Line breaks and control characters are not spoken, and a text without a letter or a digit
                is silence; `_shared.speech.speak_line` provides for both.
            seeds: one per text, 0 or more. The speech depends only on its text, its seed and `identity`, not on the
                other texts, so that it is equal in every batch and process. An engine without randomness ignores seeds,
                and the service behind an engine may draw random numbers of its own.
            on_result: called with indices and results as soon as some texts are done; see the module.

        Returns:
            A clip in memory per text, which `_shared.speech.as_speech` makes of the samples of any rate: mono, 16 kHz,
            in the values of 16-bit audio, at most 10 minutes.

        Raises:
            SpeechIQError: the voice failed.
        """


class ReplyEngine(Engine, Protocol):
    """Define an audio model that answers aloud, in a voice of its own: audio and text in, text and speech out."""

    kind: ClassVar[Kind] = "reply"

    @abstractmethod
    def reply(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[Response]]:
        """Answer each prompt once per seed, in writing and in speech.

        Args:
            prompts: with or without clips.
            seeds: per prompt one seed per reply. A reply depends only on its prompt, its seed, the settings and
                `identity`, not on the other prompts, as far as the model or the service is deterministic.
            settings: generation settings of the task, for the text; see `TextEngine.generate`.
            on_result: called with indices and results as soon as some prompts are done; see the module.

        Returns:
            Per prompt and seed a response: `text` is what the model wrote, `audio` what it spoke, a clip in memory as
            `_shared.speech.as_speech` makes it (silence if it spoke nothing), and `coverage` the share of the prompt's
            audio that it received.

        Raises:
            SpeechIQError: the model does not speak, or has no such setting or voice.
        """
