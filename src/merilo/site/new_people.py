"""What the site draws for a person who comes in: a pseudonym and the seed of their order."""

from __future__ import annotations

import secrets


class NewPeople:
    """Draws pseudonyms and seeds that nobody can guess."""

    def pseudonym(self, external: str) -> str:
        """Return a new person's pseudonym, at most 24 characters.

        Args:
            external: the person's id at the place that they come from.
        """
        return f"p{secrets.token_hex(5)}"

    def seed(self) -> int:
        """Return the seed of a new person's random order."""
        return secrets.randbits(62)
