"""A random language model of a few thousand weights with its tokenizer, saved to disk as real ones are: for tests marked `torch`."""

from pathlib import Path

from tiny_tokenizers import save_tiny_tokenizer

TEXT = (
    "The capital of France is Paris . One, two, three, four, five six seven the opposite of hot is cold blue "
    "Вопрос : сколько будет два плюс два ? Ответ : A B C D 1 2 3 4 да нет [user] [assistant] [system]"
)


def save_tiny_language_model(folder: Path, context: int = 256) -> Path:
    """A random Llama with a chat template; weights are large enough for words to differ in probability."""
    import torch
    import transformers

    save_tiny_tokenizer(folder, TEXT)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder
