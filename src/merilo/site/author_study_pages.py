"""The author's pages about a study: pausing it, invitations, the audit log, and tables to download."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from hashlib import sha256
from random import Random

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import Connection

from merilo.site.answer_export import collect_answers
from merilo.site.audit_log import PAGE, Deed, events, record
from merilo.site.author_actions import erase_name, invite, revoke, set_paused
from merilo.site.author_reads import comments_table, listed_invitations
from merilo.site.author_views import HOME, AuthorViews, local_path
from merilo.site.database import drop_remnants
from merilo.site.people_access import new_code
from merilo.site.served_study import ServedStudy
from merilo.site.site_requests import field, form_of
