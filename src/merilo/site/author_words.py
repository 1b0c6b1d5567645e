"""The texts of the author's pages in Russian and English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from merilo.bilingual import Language

_RU: Final = {
    "other_language": "English",
    "skip_to": "Перейти к содержанию",
    "author": "Страницы автора",
    "sign_in": "Вход для автора",
    "password": "Пароль",
    "sign_in_button": "Войти",
    "sign_out": "Выйти",
    "wrong_password": "Пароль неверный.",
    "too_many": "Слишком много попыток входа. Повторите через {} с.",
    "forgotten": "Пароль задаёт команда {} на сервере. Новый пароль завершает все открытые сеансы.",
    "sign_in_needed": "Нужно войти",
    "sign_in_needed_text": "Сеанс закончился, или вход не выполнен. Войдите и повторите действие.",
    "studies": "Исследования",
    "group": "Группа",
    "study": "Исследование",
    "state": "Состояние",
    "collecting": "идёт сбор ответов",
    "paused": "приостановлено",
    "paused_text": "Исследование приостановлено: новые задания не выдаются. Уже выданные задания можно закончить.",
    "pause": "Приостановить",
    "resume": "Возобновить",
    "navigation": "Разделы исследования",
    "overview": "Обзор",
    "people": "Участники",
    "invitations": "Приглашения",
    "log": "Журнал",
    "export": "Выгрузка",
    "not_found": "Такой страницы нет",
    "not_found_text": "На этом сервере нет такого исследования, участника или раздела.",
    "not_saved": "Изменение не сохранено",
    "not_saved_text": "База данных сейчас не принимает записи. Подождите минуту и повторите действие.",
    "old_form": "Страница устарела",
    "old_form_text": "Вернитесь назад, обновите страницу и повторите действие.",
    "too_big": "Слишком длинный текст",
    "too_big_text": "Отправлено больше 1 МБ. Сократите текст и отправьте ещё раз.",
    "to_studies": "К списку исследований",
    "to_sign_in": "Войти",
}

_EN: Final = {
    "other_language": "Русский",
    "skip_to": "Skip to the content",
    "author": "Author's pages",
    "sign_in": "Sign in as the author",
    "password": "Password",
    "sign_in_button": "Sign in",
    "sign_out": "Sign out",
    "wrong_password": "The password is wrong.",
    "too_many": "Too many attempts to sign in. Try again in {} s.",
    "forgotten": "The command {} on the server sets the password. A new password ends all open sessions.",
    "sign_in_needed": "Sign in first",
    "sign_in_needed_text": "Your session has ended, or you have not signed in. Sign in and try again.",
    "studies": "Studies",
    "group": "Group",
    "study": "Study",
    "state": "State",
    "collecting": "collecting answers",
    "paused": "paused",
    "paused_text": "The study is paused: no new tasks are given. Tasks that were given before can be finished.",
    "pause": "Pause",
    "resume": "Resume",
    "navigation": "Parts of the study",
    "overview": "Overview",
    "people": "People",
    "invitations": "Invitations",
    "log": "Log",
    "export": "Export",
    "not_found": "There is no such page",
    "not_found_text": "This server has no such study, person or page.",
    "not_saved": "The change is not saved",
    "not_saved_text": "The database accepts no changes now. Wait a minute and try again.",
    "old_form": "The page is out of date",
    "old_form_text": "Go back, reload the page and try again.",
    "too_big": "The text is too long",
    "too_big_text": "More than 1 MB was sent. Shorten the text and send it again.",
    "to_studies": "To the list of studies",
    "to_sign_in": "Sign in",
}

AUTHOR_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {"ru": _RU, "en": _EN}


def author_words(language: Language) -> Mapping[str, str]:
    """Return the texts of the author's pages in a language."""
    return AUTHOR_WORDS[language]
