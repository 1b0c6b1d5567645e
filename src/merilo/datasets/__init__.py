"""What is asked: the catalogue, prompts, generators and solvers."""
