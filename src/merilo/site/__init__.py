"""The annotation site: people answer a frozen study in their browsers."""
