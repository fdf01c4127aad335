"""Contracts of engines: what runs one stage of a system, and what a system may ask of it.

An engine subclasses the protocol of its kind, which has the defaults of what is optional. Verbs take a batch and return
one result per item, in the order of the items. A verb calls `on_result(places, results)` as soon as a part of the
batch is done, with the places of the items in the batch, so that this part is in the response cache if the run stops.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from msgspec import Struct

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.context import count_by_bytes
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.engines.options import Options, list_names

if TYPE_CHECKING:
    import torch

BatchSize = int | Literal["auto"]


class Setup(Struct, frozen=True, kw_only=True):
    """How a run wants an engine, whatever the engine is.

    Attributes:
        engine: its name in the registry, or that of a model type of lm-eval.
        prefix: what the names of the stage's options begin with (`asr_`, `ger_`, `llm_`, or nothing), for errors.
        device: where models run.
        batch_size: items per batch, or `auto`, by which the engine chooses.
    """

    engine: str = ""
    prefix: str = ""
    device: str | torch.device = "cpu"
    batch_size: BatchSize = "auto"


class Engine(Protocol):
    """What engines of all kinds have.

    Building one loads no weights and raises a `SpeechIQError` for everything that can be known without them.

    Attributes:
        kind: which of the protocols below it follows.
        record: the type of its options.
        gives_nbest: whether it has the option `nbest`, the most hypotheses in `Response.hypotheses` of a transcript.
    """

    kind: ClassVar[Literal["asr", "text", "audio"]]
    record: ClassVar[type[Options]] = Options
    gives_nbest: bool = False

    def __init__(self, model: str, options: Any, setup: Setup) -> None:
        """Check that the model can run.

        Args:
            model: its name for this engine; empty for an engine without models.
            options: a `record`.
            setup: of this run.
        """

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return the class that runs the model, by default this one.

        An engine with several kinds of models returns the class of the model's kind, so that an option which only
        other kinds have is refused.

        Args:
            model: as for the constructor.
            given: options of the stage, not yet checked.
            setup: of this run.
        """
        return cls

    @classmethod
    def option_records(cls) -> tuple[type[Options], ...]:
        """Return the records of all classes that `choose` may return, by default the one of this class."""
        return (cls.record,)

    @classmethod
    def option_names(cls) -> set[str]:
        """Return the names of the options that some model of this engine has."""
        return set().union(*map(list_names, cls.option_records()))

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what runs and how, for the results file: JSON types only, no secrets."""

    def identity(self) -> dict[str, Any] | None:
        """Return all that its results depend on beside the items and the settings: JSON types only.

        It is part of the key of each row in the response cache. None, the default, is for an engine whose work is not
        cached, since there is nothing to save.
        """
        return None


class ASREngine(Engine, Protocol):
    """A speech recognizer."""

    kind: ClassVar[Literal["asr", "text", "audio"]] = "asr"

    @abstractmethod
    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip.

        Args:
            clips: `clip.samples` is float32, shape (samples,), mono, 16 kHz.
            on_result: see the module.

        Returns:
            A transcript per clip, with its coverage: seconds that the model was fed / seconds of the clip, NaN if
            that is not known.
        """


class Writer(Engine, Protocol):
    """What text engines and audio engines share."""

    def has_loglikelihood(self) -> bool:
        """Return whether `loglikelihood` works; without it a run with `answer=likelihood` is refused at its start.

        An endpoint may have to be called to know.
        """
        return True

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which a loaded model may stay in memory from call to call; it loads nothing."""
        return nullcontext()

    @abstractmethod
    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return how `generate` samples by these settings, for the results file.

        Raises:
            SpeechIQError: a setting that the engine does not know, or an invalid value.
        """

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings that decide an answer, for its cache key: by default the given ones.

        An engine that fills in defaults of a library adds them, so that answers which were sampled by other defaults
        are not taken for its own.
        """
        return dict(settings)


class TextEngine(Writer, Protocol):
    """A language model that reads text."""

    kind: ClassVar[Literal["asr", "text", "audio"]] = "text"

    @abstractmethod
    def generate(
        self,
        prompts: Sequence[TextPrompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt once per seed, in the model's chat template if it has one.

        Args:
            prompts: what a user says.
            seeds: per prompt one seed per answer; all of one length. An answer depends on its own seed alone, not on
                the batch.
            settings: generation settings of the task: `max_gen_toks` (tokens), `do_sample`, `until`, `temperature`,
                ... Without `do_sample` decoding is greedy.
            on_result: see the module.
        """

    @abstractmethod
    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return per prompt the log-probability (nats) of each of its continuations, both taken as plain text.

        Raises:
            SpeechIQError: the model gives no log-probabilities.
        """

    def count(self, text: str) -> int:
        """Return how many tokens a text has; if the tokenizer is not known, how many at most."""
        return count_by_bytes(text)


class AudioEngine(Writer, Protocol):
    """A language model that takes audio and text; it can also run the ASR stage.

    Attributes:
        asks_in_words: whether a transcript depends on the words of its prompt, so that they belong to its cache key.
    """

    kind: ClassVar[Literal["asr", "text", "audio"]] = "audio"
    asks_in_words: bool = True

    @abstractmethod
    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Return what was said in the one clip of each prompt; see `ASREngine.transcribe`."""

    @abstractmethod
    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return per prompt its coverage: seconds that the model is fed / seconds of all its clips, NaN if unknown."""

    @abstractmethod
    def generate(
        self,
        prompts: Sequence[Prompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt, with the audio of its clips, once per seed; see `TextEngine.generate`."""

    @abstractmethod
    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return per prompt the log-probability (nats) of each continuation as the beginning of the answer.

        Raises:
            SpeechIQError: the model gives no log-probabilities.
        """
