"""`--model audio-api`: a model that hears, behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio


class AudioAPI(HFAudio):
    """`hf-audio` with `pretrained=openai:MODEL`.

    Args:
        model: as the endpoint calls it.
        device, batch_size, max_batch_size: not used; lm-eval passes them.
        **options: `store` of `HFAudio`, and those of `AudioEndpoint`, such as
            `base_url=http://127.0.0.1:8000/v1` or `num_concurrent=16`.

    Raises:
        SpeechIQError: no model is named, or twice, no key, nobody at the address, or the results could not be
            written.
    """

    def __init__(
        self,
        model: str | None = None,
        device: str | None = None,
        batch_size: int | str = "auto",
        max_batch_size: int | None = None,
        **options: Any,
    ) -> None:
        if not model:
            raise SpeechIQError("audio-api: no model; give --model_args model=NAME, as the endpoint calls it")
        if "pretrained" in options:
            raise SpeechIQError(
                f"audio-api: pretrained={options['pretrained']} beside model={model}; leave one of them out: audio-api "
                f"takes model=NAME, and --model hf-audio takes pretrained=SYSTEM"
            )
        super().__init__(f"openai:{model}", device, batch_size, **options)
