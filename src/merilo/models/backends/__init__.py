"""The backends of `merilo run`: what turns a request into a reply."""

from merilo.models.backends.rate_limits import RateLimits
from merilo.models.backends.registry import backend_names, open_backend

__all__ = ["RateLimits", "backend_names", "open_backend"]
