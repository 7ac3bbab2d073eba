"""Sphinx extension: words that the theme does not translate, and its words in both languages on the view `both`."""

from gettext import NullTranslations

from sphinx.locale import translators

SKIP = "Skip to main content"
ZH = {
    SKIP: "跳到正文",
    "Link to this heading": "这一节的链接",
    "Link to this equation": "这个公式的链接",
    "Link to this image": "这幅图的链接",
    "Link to this table": "这张表的链接",
    "Link to this code": "这段代码的链接",
    "Version warning": "版本提醒",
}


class Words(NullTranslations):
    """The words of a view over the catalogue of its language."""

    def __init__(self, view):
        super().__init__()
        self.view = view

    def gettext(self, message):
        if message not in ZH:
            return super().gettext(message)
        if self.view == "zh":
            return ZH[message]
        if message == SKIP:  # text, the only one; the others are names of links and fields
            return f'<span lang="zh-Hans">{ZH[message]}</span> <span lang="en">{message}</span>'
        return f"{ZH[message]} · {message}"


def add_words(app):
    """Put them before the catalogue, which answers for whatever is not among them."""
    if app.config.bilingual_mode != "en":
        words = Words(app.config.bilingual_mode)
        words.add_fallback(translators["general", "sphinx"])
        translators["general", "sphinx"] = app.translator = words


def setup(app):
    app.connect("config-inited", lambda app, config: add_words(app))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
