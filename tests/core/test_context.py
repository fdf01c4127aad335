import pytest
from transformers import AutoTokenizer, GPT2Config, LlamaConfig, MambaConfig, Qwen2Config

from speechiq.core.checkpoints.names import resolve
from speechiq.core.checkpoints.opening import check_tokens, read_context
from speechiq.core.errors import SpeechIQError

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "rope_theta": 5e5,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (LlamaConfig(max_position_embeddings=4096), 4096),
        (LlamaConfig(max_position_embeddings=131072, rope_parameters=LLAMA3), 131072),
        (Qwen2Config(max_position_embeddings=32768, rope_parameters=YARN), 131072),
        (Qwen2Config(max_position_embeddings=131072, rope_parameters=YARN), 131072),
        (LlamaConfig(max_position_embeddings=4096, rope_parameters={"rope_type": "linear", "factor": 4.0}), 16384),
        (Qwen2Config(max_position_embeddings=8192, use_sliding_window=True, sliding_window=64), 8192),
        (GPT2Config(n_positions=1024), 1024),
        (MambaConfig(), None),
    ],
)
def test_the_context_is_that_of_the_architecture(config, context):
    assert read_context(config) == context


def test_a_tokenizer_counts_only_where_the_config_has_no_limit(demo_models):
    tokenizer = AutoTokenizer.from_pretrained(resolve("demo:SmolLM2-135M-Instruct"))
    tokenizer.model_max_length = 77
    assert read_context(MambaConfig(), tokenizer) == 77
    assert read_context(LlamaConfig(max_position_embeddings=99), tokenizer) == 99
    tokenizer.model_max_length = int(1e30)
    assert read_context(MambaConfig(), tokenizer) is None


def test_too_many_tokens_are_refused_with_the_numbers():
    check_tokens("m", "a", [0] * 8, 2, 10, "do")
    check_tokens("m", "a", [0] * 8, 2, None, "do")
    with pytest.raises(SpeechIQError, match=r"^m: a has 10,167 tokens, but the model takes 8,192; do$"):
        check_tokens("m", "a", [0] * 10_167, 0, 8192, "do")
    with pytest.raises(SpeechIQError, match=r"has 9 tokens and 2 for the answer, but the model takes 10"):
        check_tokens("m", "a", [0] * 9, 2, 10, "do")
