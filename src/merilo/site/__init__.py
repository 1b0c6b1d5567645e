"""The annotation site: people answer the items of a frozen study in a browser."""
