"""The backends of `merilo run`: what turns a request into a reply."""
