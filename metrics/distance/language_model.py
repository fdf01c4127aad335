"""Read texts with a language model: its states, or the logits of the next token."""

from collections.abc import Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.distance.text_model import TextModel, Tokens, mean_of_tokens

#: How a text gets into a prompt: as plain text, or as a user's turn of the model's own chat template.
TEMPLATES = ("plain", "chat")
DTYPES = ("float32", "bfloat16", "float16")


class LanguageModel(TextModel):
    """Read the states and logits of a language model; see `TextModel.read`.

    Its readings are `last` or `chat` (the last layer's state at the last token, the state that predicts the next word;
    of `chat` after the text as a user's turn in the chat template), `raw` (see `_read_raw`), and `logits` (those of the
    next token, for a role whose loader includes the head).
    """

    def check_template(self, template: str) -> None:
        """Refuse a model without a chat template where one is asked for (`chat`)."""
        if template == "chat" and self.tokenizer.chat_template is None:
            raise SpeechIQError(self.called, "has no chat template", f"leave {self.role.option}_template plain")

    def tokenize(self, texts: Sequence[str], reading: str) -> Sequence[Any]:
        """Return the tokens of each text; see `TextModel.tokenize`."""
        if reading != "chat":
            return super().tokenize(texts, reading)
        turns = [[{"role": "user", "content": text}] for text in texts]
        tokens: list[list[int]] = self.tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        return tokens

    def read_batch(self, batch: Sequence[Tokens], reading: str) -> list[str]:
        """Return a vector per text, in base64; see `TextModel.read_batch`."""
        import torch

        if reading == "logits":
            return self._read_logits(batch)
        if reading == "raw":
            return self._read_raw(batch)
        padded, output = self._states(batch)
        return self.as_rows(output.last_hidden_state[torch.arange(len(batch)), padded.last])

    def _states(self, batch: Sequence[Tokens], **options: Any) -> tuple[Any, Any]:
        """Return the padded batch and the output of the model below its head."""
        padded = self.pad(batch)
        body = self.load().base_model
        return padded, body(input_ids=padded.ids, attention_mask=padded.mask, use_cache=False, **options)

    def _read_raw(self, batch: Sequence[Tokens]) -> list[str]:
        """Return three sentence embeddings, one after the other (Liu et al., table 4).

        They are the last layer's state at the last token; the mean of the first, the middle and the last layer's state
        at the last token; and the mean of the last layer's states over all tokens. Layer l of L is `hidden_states[l]`,
        so that the first is not the embedding layer; the middle one is L // 2, the paper's 20th of 40. Only the last
        layer's state is after the final norm.
        """
        import torch

        padded, output = self._states(batch, output_hidden_states=True)
        rows, layers = torch.arange(len(batch)), output.hidden_states
        states = output.last_hidden_state
        last = states[rows, padded.last].float()
        inner = [layers[layer][rows, padded.last].float() for layer in (1, max(1, (len(layers) - 1) // 2))]
        tokens = mean_of_tokens(states, padded.mask)
        return self.as_rows(torch.cat([last, (last + inner[0] + inner[1]) / 3, tokens], dim=1))

    def _read_logits(self, batch: Sequence[Tokens]) -> list[str]:
        import torch

        ids, mask, last = self.pad(batch)
        places, column = torch.unique(last, return_inverse=True)
        output = self.load()(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=places)
        return self.as_rows(output.logits[torch.arange(len(batch)), column])
