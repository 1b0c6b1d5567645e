"""Tasks that other harnesses run with Merilo's prompts and metrics."""
