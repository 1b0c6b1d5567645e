"""The leaderboard: people and models on many datasets, as a static site that is rebuilt from stored scores."""
