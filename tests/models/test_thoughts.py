"""Thought is separated from the answer, wherever its marks stand."""

from every import every

from merilo.models.asking import split_thought


@every(
    ("text", "thought", "answer"),
    [
        ("C", None, "C"),
        ("<think>A?</think>C", "A?", "C"),
        ("<think>\nA?\n</think>\n\nC\n", "A?", "C"),
        ("<thinking>A?</thinking>C", "A?", "C"),
        ("<reasoning>A?</reasoning>C", "A?", "C"),
        ("[THINK]A?[/THINK]C", "A?", "C"),
        ("◁think▷A?◁/think▷C", "A?", "C"),
        ("A?</think>C", "A?", "C"),  # the template ended with the opening mark
        ("<think>A?", "A?", ""),  # cut off while it thought
        ("<think></think>C", "", "C"),
        ("C<think>A?</think>", "A?", "C"),
        ("<think>A?</think>B<think>no</think>C", "A?</think>B<think>no", "C"),
        ("C<|im_end|>", None, "C"),
        ("C<|endoftext|>Question: next", None, "C"),
        (
            "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>C<|return|>",
            "A?",
            "C",
        ),
        ("<|channel|>analysis<|message|>A?", "A?", ""),
        ("x < y > z", None, "x < y > z"),
        ("", None, ""),
    ],
)
def test_thought_and_answer(text: str, thought: str | None, answer: str) -> None:
    assert split_thought(text) == (thought, answer)
