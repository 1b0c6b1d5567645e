"""The backends of `merilo run`: what turns a request into a reply."""

from merilo.models.backends.registry import backend_names, open_backend
from merilo.models.backends.self_check import self_check
from merilo.models.backends.servers import RateLimits

__all__ = ["RateLimits", "backend_names", "open_backend", "self_check"]
