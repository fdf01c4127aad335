"""Make tiny models of real architectures, randomly initialized, with real processors, saved as a user would find them.

`python -m tests.engines.tiny NAME FOLDER` makes one.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import torch
import transformers as tf

from speechiq.core.checkpoints.names import resolve

TOKENIZER = "demo:SmolLM2-135M-Instruct"
MELS = 16
#: Letters that the tiny voice speaks.
LETTERS = "_abcdefghijklmnopqrstuvwxyz'-0123456789 "
#: Tokens of speech of a model that speaks.
CODES = 48
OMNI_TOKENS = {
    f"{kind.lower()}_token": f"<|{kind}|>"
    for kind in ("AUDIO", "IMAGE", "VIDEO", "audio_bos", "audio_eos", "vision_bos", "vision_eos")
}
#: The form of most chat templates; AUDIO is what a model has in the place of its audio.
CHAT = """{% for message in messages %}<|im_start|>{{ message['role'] }}
{% for part in message['content'] %}{{ part['text'] if part['type'] == 'text' else 'AUDIO' }}{% endfor %}<|im_end|>
{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"""
CONTROL_TOKENS = {
    0: "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS]",
    11: "<pad>",
    14: "[PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]",
    24: "[AUDIO] [BEGIN_AUDIO]",
    34: "[TRANSCRIBE]",
}


def make(name: str, folder: Path, **changes) -> str:
    """Save a checkpoint of the architecture `name`; return its folder as text.

    Many of its tokens end a text, so that texts of many lengths stand in one batch.

    Args:
        name: of a function of this file.
        folder: where to.
        **changes: to the config of the language model.
    """
    torch.manual_seed(0)
    model, processor = globals()[name](folder, changes)
    model.generation_config.eos_token_id = [2, *range(50, 1200, 10), *range(1200, 40_000, 30)]
    model.generation_config.repetition_penalty = 1.3
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return str(folder)


def qwen2_audio(folder, changes):
    tokenizer = read_tokenizer(
        audio_token="<|AUDIO|>", audio_bos_token="<|audio_bos|>", audio_eos_token="<|audio_eos|>"
    )
    config = tf.Qwen2AudioConfig(
        audio_config=whisper_like(d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=32),
        text_config=text(tokenizer, "qwen2", changes),
        audio_token_id=tokenizer.audio_token_id,
    )
    processor = tf.Qwen2AudioProcessor(ears(), tokenizer)
    return tf.Qwen2AudioForConditionalGeneration(config), processor


def audioflamingo3(folder, changes, max_audio_len=600):
    tokenizer = read_tokenizer(audio_token="<sound>")
    config = tf.AudioFlamingo3Config(
        audio_config=whisper_like(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32),
        text_config=text(tokenizer, "qwen2", changes),
        audio_token_id=tokenizer.audio_token_id,
    )
    template = CHAT.replace("AUDIO", "<sound>")
    processor = tf.AudioFlamingo3Processor(ears(), tokenizer, chat_template=template, max_audio_len=max_audio_len)
    return tf.AudioFlamingo3ForConditionalGeneration(config), processor


def audioflamingo3_of_30_s(folder, changes):
    return audioflamingo3(folder, changes, max_audio_len=30)


def qwen2_5_omni(folder, changes):
    tokenizer = read_tokenizer(**OMNI_TOKENS)
    thinker = {
        "text_config": text(tokenizer, "qwen2_5_omni_text", changes)
        | {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [1, 1, 2]}},
        "audio_config": whisper_like(
            d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=32, output_dim=32
        ),
        "vision_config": {
            "depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 32,
            "fullatt_block_indexes": [0],
        },
        "audio_token_index": tokenizer.audio_token_id,
        "image_token_index": tokenizer.image_token_id,
        "video_token_index": tokenizer.video_token_id,
        "audio_start_token_id": tokenizer.audio_bos_token_id,
        "audio_end_token_id": tokenizer.audio_eos_token_id,
        "vision_start_token_id": tokenizer.vision_bos_token_id,
        "vision_end_token_id": tokenizer.vision_eos_token_id,
    }  # fmt: skip
    config = tf.Qwen2_5OmniConfig(thinker_config=thinker, enable_audio_output=False)
    return tf.Qwen2_5OmniForConditionalGeneration(config), omni_processor(tf.Qwen2_5OmniProcessor, tokenizer)


def qwen2_5_omni_with_talker(folder, changes):
    """Make the same model with the part that speaks; see `fill`."""
    silent, processor = qwen2_5_omni(folder, changes)
    thinker = silent.config.thinker_config
    special = (
        "audio_token_index", "image_token_index", "video_token_index", "audio_start_token_id", "audio_end_token_id",
        "vision_start_token_id", "vision_end_token_id",
    )  # fmt: skip
    talker = {name: getattr(thinker, name) for name in special} | {
        "vocab_size": CODES + 4, "embedding_size": 32, "hidden_size": 32, "intermediate_size": 64, "head_dim": 8,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "rope_parameters": thinker.text_config.rope_parameters,
        "tts_codec_pad_token_id": CODES, "tts_codec_start_token_id": CODES + 1, "tts_codec_end_token_id": CODES + 2,
        "tts_codec_mask_token_id": CODES + 3,
        "tts_text_start_token_id": 5, "tts_text_end_token_id": 6, "tts_text_pad_token_id": 7,
    }  # fmt: skip
    vocoder = {
        "dit_config": {
            "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 16, "emb_dim": 16,
            "num_embeds": CODES + 4, "enc_emb_dim": 16, "enc_dim": 8, "enc_channels": [16, 16, 16, 16, 48],
            "enc_attention_channels": 8, "enc_se_channels": 8,
        },
        "bigvgan_config": {
            "upsample_initial_channel": 64, "resblock_kernel_sizes": [3], "resblock_dilation_sizes": [[1, 3, 5]],
        },
    }  # fmt: skip
    config = tf.Qwen2_5OmniConfig(thinker_config=thinker.to_dict(), talker_config=talker, token2wav_config=vocoder)
    model = tf.Qwen2_5OmniForConditionalGeneration(config)
    fill(model.token2wav)
    Path(folder).mkdir(parents=True, exist_ok=True)
    speakers = {
        name: {"bos_token": 5, "cond": torch.randn(1, 16), "ref_mel": torch.randn(1, 30, 80)}
        for name in ("Chelsie", "Ethan")
    }
    torch.save(speakers, Path(folder, "spk_dict.pt"))
    return model, processor


def qwen3_omni_moe_with_talker(folder, changes):
    tokenizer = read_tokenizer(**OMNI_TOKENS)
    user, assistant, system = (tokenizer(role).input_ids[0] for role in ("user", "assistant", "system"))
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    layer = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8,
    }  # fmt: skip
    places = {
        "audio_token_id": tokenizer.audio_token_id, "image_token_id": tokenizer.image_token_id,
        "video_token_id": tokenizer.video_token_id, "audio_start_token_id": tokenizer.audio_bos_token_id,
        "vision_start_token_id": tokenizer.vision_bos_token_id,
    }  # fmt: skip
    thinker = places | {
        "text_config": text(tokenizer, "qwen3_omni_moe_text", changes) | layer | experts | rope,
        "audio_config": whisper_like(
            d_model=16, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=32, output_dim=32,
            downsample_hidden_size=8,
        ),
        "vision_config": {
            "depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "out_hidden_size": 32,
            "deepstack_visual_indexes": [0],
        },
    }  # fmt: skip
    thinker["text_config"]["rope_parameters"]["mrope_section"] = [1, 1, 2]
    talker = places | {
        # The last 1,024 tokens of a talker are never spoken.
        "text_config": layer | experts | rope | {"vocab_size": CODES + 1040, "shared_expert_intermediate_size": 16},
        "code_predictor_config": layer | {"vocab_size": CODES, "num_code_groups": 4},
        "num_code_groups": 4, "thinker_hidden_size": 32, "accept_hidden_layer": 1, "spatial_merge_size": 2,
        "codec_eos_token_id": CODES + 2, "codec_pad_id": CODES + 3, "codec_bos_id": CODES + 4,
        "codec_nothink_id": CODES + 5, "codec_think_bos_id": CODES + 6, "codec_think_eos_id": CODES + 7,
        "speaker_id": {"chelsie": CODES + 8, "ethan": CODES + 9},
    }  # fmt: skip
    vocoder = layer | {"codebook_size": CODES, "num_key_value_heads": 4, "num_quantizers": 4, "decoder_dim": 64}
    config = tf.Qwen3OmniMoeConfig(
        thinker_config=thinker, talker_config=talker, code2wav_config=vocoder, user_token_id=user,
        assistant_token_id=assistant, system_token_id=system, im_start_token_id=1, im_end_token_id=2,
        tts_pad_token_id=5, tts_bos_token_id=6, tts_eos_token_id=7,
    )  # fmt: skip
    model = tf.Qwen3OmniMoeForConditionalGeneration(config)
    fill(model.talker)
    fill(model.code2wav)
    return model, omni_processor(tf.Qwen3OmniMoeProcessor, tokenizer)


def omni_processor(processor_class, tokenizer):
    return processor_class(
        image_processor=tf.Qwen2VLImageProcessor(),
        video_processor=tf.Qwen2VLVideoProcessor(),
        feature_extractor=ears(chunk_length=60, return_attention_mask=True),
        tokenizer=tokenizer,
        chat_template=CHAT.replace("AUDIO", "<|audio_bos|><|AUDIO|><|audio_eos|>"),
    )


def fill(module) -> None:
    """Draw weights so large that what goes through a layer keeps its size, and speech is audible."""
    for weight in module.parameters():
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=weight[0].numel() ** -0.5)


def voxtral(folder, changes):
    Path(folder).mkdir(parents=True, exist_ok=True)
    names = [f"<SPECIAL_{i}>" for i in range(64)]
    for place, known in CONTROL_TOKENS.items():
        names[place : place + len(known.split())] = known.split()
    tekken = {
        "config": {
            "pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "num_vocab_tokens": 256, "default_vocab_size": 256 + len(names), "version": "v7",
            "default_num_special_tokens": len(names),
        },
        "vocab": [
            {"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)
        ],
        "special_tokens": [{"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(names)],
        "audio": {
            "sampling_rate": 16_000, "frame_rate": 12.5, "chunk_length_s": 30.0, "transcription_format": "instruct",
            "audio_encoding_config": {"num_mel_bins": MELS, "hop_length": 160, "window_size": 400},
        },
    }  # fmt: skip
    Path(folder, "tekken.json").write_text(json.dumps(tekken), encoding="utf-8")
    tokenizer = tf.MistralCommonBackend.from_pretrained(folder)
    config = tf.VoxtralConfig(
        audio_config=whisper_like(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, head_dim=8
        ),
        text_config=text(range(256 + len(names)), "llama", {"pad_token_id": 11} | changes),
        audio_token_id=24,
    )
    return tf.VoxtralForConditionalGeneration(config), tf.VoxtralProcessor(ears(), tokenizer)


def read_tokenizer(**special: str):
    """Return a real tokenizer with more special tokens, each accessible by its name."""
    return tf.AutoTokenizer.from_pretrained(resolve(TOKENIZER), extra_special_tokens=special)


def ears(**changes):
    return tf.WhisperFeatureExtractor(feature_size=MELS, **changes)


def whisper_like(**sizes):
    return {"num_mel_bins": MELS, **sizes}


def text(tokenizer, model_type: str, changes) -> dict:
    """Return the config of a language model with weights so large that its audio changes its text."""
    return {
        "model_type": model_type, "vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096,
        "initializer_range": 0.3, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2,
        "tie_word_embeddings": False,
    } | changes  # fmt: skip


def make_voice(folder: Path) -> str:
    """Save a tiny voice of a real architecture, VITS, with a tokenizer of letters; return its folder as text."""
    torch.manual_seed(0)
    config = tf.VitsConfig(
        vocab_size=len(LETTERS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32, flow_size=16,
        spectrogram_bins=9, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
        posterior_encoder_num_wavenet_layers=2, duration_predictor_filter_channels=16, duration_predictor_num_flows=2,
        upsample_initial_channel=32, upsample_rates=[8, 8, 2, 2], upsample_kernel_sizes=[16, 16, 4, 4],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
    )  # fmt: skip
    tf.VitsModel(config).save_pretrained(folder)
    letters = folder / "letters.json"
    letters.write_text(json.dumps({letter: number for number, letter in enumerate(LETTERS)}))
    tf.VitsTokenizer(str(letters), phonemize=False, is_uroman=False, normalize=True).save_pretrained(folder)
    return str(folder)


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]))
