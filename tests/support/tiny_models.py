"""Random models of a few thousand weights and their tokenizers, saved to disk as real ones are: for tests marked `torch`."""

from pathlib import Path

TOXIC = ["ты дурак и всё тут", "какая глупость", "иди отсюда", "вздор вздор вздор"]
POLITE = [
    "ты не прав",
    "я не согласен с этим",
    "уйди пожалуйста",
    "мне кажется это не так , ведь всё было не так",
]
LABELS = {
    "sta": {0: "neutral", 1: "toxic"},
    "sim": {0: "not_paraphrase", 1: "paraphrase"},
    "fl": {0: "LABEL_0", 1: "LABEL_1"},
}
WORDS = (
    "The capital of France is Paris . One, two, three, four, five six seven the opposite of hot is cold blue "
    "Вопрос : сколько будет два плюс два ? Ответ : A B C D 1 2 3 4 да нет [user] [assistant] [system]"
)


def save_tiny_models(folder: Path) -> Path:
    """A folder with `sta`, `sim` and `fl`, as `save_pretrained` leaves them."""
    import torch
    import transformers

    words = sorted({word for text in TOXIC + POLITE for word in text.split()})
    vocabulary = folder / "vocab.txt"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary.write_text("\n".join([*special, *words]), encoding="utf-8")
    for seed, (part, names) in enumerate(LABELS.items()):
        torch.manual_seed(seed)
        config = transformers.BertConfig(
            vocab_size=len(words) + len(special),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=512,
            initializer_range=0.5,
            id2label=names,
            label2id={name: index for index, name in names.items()},
        )
        transformers.BertForSequenceClassification(config).save_pretrained(folder / part)
        transformers.BertTokenizerFast(vocab_file=str(vocabulary)).save_pretrained(folder / part)
    return folder


def save_tiny_language_model(folder: Path) -> Path:
    """A random Llama with a chat template; weights are large enough for words to differ in probability."""
    import torch
    import transformers

    save_tiny_tokenizer(folder, WORDS)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def save_tiny_tokenizer(folder: Path, text: str) -> Path:
    """A byte-level tokenizer whose whole words are those of a text, each with the space before it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        min_frequency=1,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text, " " + text], trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    wrapped.chat_template = (
        "{% for message in messages %}[{{ message.role }}]{{ message.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    wrapped.save_pretrained(folder)
    return folder


def save_word_tokenizer(folder: Path) -> Path:
    """A tokenizer that cuts texts as the scripted server does: words with the spaces before them."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s*\S+|\s+$"), "isolated")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder)
    return folder
