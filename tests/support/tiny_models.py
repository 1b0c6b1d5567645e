"""Random sequence classifiers of a few thousand weights, saved to disk as real ones are."""

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


def save_tiny_models(folder: Path) -> Path:
    """A folder with `sta`, `sim` and `fl`, as `save_pretrained` leaves them: for tests that are marked `torch`."""
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
