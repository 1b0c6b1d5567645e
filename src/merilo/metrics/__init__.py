"""How an answer is scored; intervals and tests. Nothing here knows who answered."""
