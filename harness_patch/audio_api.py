"""Define `--model audio-api`: an audio model behind an OpenAI-compatible endpoint."""

from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.hf_audio import HFAudio


class AudioAPI(HFAudio):
    """Run `hf-audio` with `pretrained=openai:MODEL`.

    Its options are `store` of `HFAudio`, and those of `AudioEndpoint`, such as `base_url=http://127.0.0.1:8000/v1` or
    `num_concurrent=16`. lm-eval passes `device` and the batch sizes, which are not used.
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
            raise SpeechIQError("audio-api", "no model", "give --model_args model=NAME, the name at the endpoint")
        if "pretrained" in options:
            raise SpeechIQError(
                "audio-api",
                f"pretrained={options['pretrained']} next to model={model}",
                "leave out one of them: audio-api takes model=NAME, and --model hf-audio takes pretrained=SYSTEM",
            )
        super().__init__(f"openai:{model}", device, batch_size, **options)
