"""Leave out of a style what no page and no script of a site can ever use.

A rule goes only if each of its selectors needs an element, a class, an id, an attribute or an attribute's value that
no page's markup holds and that is no word of any script.  Pseudo-classes and what stands in :not() count as fulfilled.
Then go the keyframes, fonts and custom properties that nothing names any more.
"""

import re
from functools import cache
from html import unescape
from itertools import pairwise

import tinycss2

CODE = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>", re.S)
TAG = re.compile(r"""<([a-zA-Z][\w-]*)((?:[^"'<>]|"[^"]*"|'[^']*')*)>""")
ATTRIBUTE = re.compile(r"""([^\s"'=/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
WORD = re.compile(r"-*[A-Za-z_][\w-]*")
ALTERNATIVES = {"is", "where", "has"}
GROUPS = {"media", "supports", "layer", "container"}
BY_THE_BROWSER = {"html", "head", "body", "tbody", "open"}  # what a page has without saying so


class Vocabulary:
    """The names that pages and scripts use: `name in vocabulary`.

    A script may put a name together: `bs-${kind}-auto` holds the words bs- and -auto.  So every name is known that
    begins with such a word, or is a known word before such an end.  Its dataset.fooBar is the attribute data-foo-bar.
    """

    def __init__(self, pages, scripts):
        self.words, code, tags = set(BY_THE_BROWSER), list(scripts), set()
        for html in pages:
            code += CODE.findall(html)
            tags.update(TAG.findall(CODE.sub("", html)))
        for tag, attributes in tags:
            self.words.add(tag.lower())
            for name, *values in ATTRIBUTE.findall(attributes):
                value = unescape("".join(values))
                self.words.update([name.lower(), value], value.split() if name == "class" else [])
        said = set(WORD.findall(re.sub(r"\\[nrt]", " ", "\n".join(code))))
        self.words |= said | {"data-" + re.sub("[A-Z]", lambda m: "-" + m[0].lower(), word) for word in said}
        self.begins = tuple(word for word in said if word.endswith("-") and len(word) > 2)
        self.ends = tuple(word for word in said if word.startswith("-"))

    def __contains__(self, name):
        ends = (name.removesuffix(end) in self.words for end in self.ends if name.endswith(end))
        return name in self.words or name.startswith(self.begins) or any(ends)


def selectors(tokens):
    """The tokens of each selector of a list."""
    found = [[]]
    for token in tokens:
        found.append([]) if token == "," else found[-1].append(token)
    return found


def possible(selector, known):
    """Whether something on a page can match the selector, as far as its names tell."""
    return all(possible_part(before, token, known) for before, token in pairwise([None, *selector]))


def possible_part(before, token, known):
    """The same of one of its tokens: an element, .class, #id, [attribute], :is() and the like; others are possible."""
    if token.type == "ident" and before != ":":
        return token.value in known or (before != "." and token.lower_value in known)
    if token.type == "hash":
        return token.value in known
    if token.type == "[] block":
        return possible_attribute(token.content, known)
    if token.type == "function" and token.lower_name in ALTERNATIVES:
        return any(possible(one, known) for one in selectors(token.arguments))
    return True


def possible_attribute(tokens, known):
    """Whether [name], [name="value"] … can match; of a value only equality is looked at."""
    parts = [token for token in tokens if token.type != "whitespace"]
    if parts[0].type != "ident" or parts[0].value not in known:
        return False
    return len(parts) != 3 or parts[1] != "=" or all(word in known for word in parts[2].value.split())


def kept_selectors(prelude, known):
    """The list of selectors, less those that can match nothing; whole where a browser may refuse one of them, and with
    it the rule."""
    kept = [one for one in selectors(prelude) if possible(one, known)]
    text = tinycss2.serialize(prelude).strip()
    return text if kept and ":-" in text else ",".join(tinycss2.serialize(one).strip() for one in kept)


def kept_declarations(content, read):
    """The declarations, less the custom properties that nothing reads."""
    parts = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    if any(part.type != "declaration" for part in parts):  # nested rules, or what only some browsers understand
        return tinycss2.serialize(content)
    kept = [part for part in parts if not part.name.startswith("--") or part.name in read]
    return ";".join(
        f"{part.name}:{tinycss2.serialize(part.value).strip() or ' '}{'!important' * part.important}" for part in kept
    )


def pruned(parsed, known, read):
    """The text of the rules that can match something and say something."""
    for rule in parsed:
        if rule.type == "qualified-rule":
            chosen, said = kept_selectors(rule.prelude, known), kept_declarations(rule.content, read)
            yield f"{chosen}{{{said}}}" if chosen and said else ""
        elif rule.type == "at-rule" and rule.lower_at_keyword in GROUPS and rule.content is not None:
            inner = "".join(pruned(tinycss2.parse_rule_list(rule.content, True, True), known, read))
            yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}" if inner else ""
        elif rule.type == "at-rule" and rule.lower_at_keyword.endswith("keyframes"):
            yield rule.serialize() if tinycss2.serialize(rule.prelude).strip() in read else ""
        elif rule.type == "at-rule" and rule.lower_at_keyword == "font-face":
            family = re.search(r"font-family:\s*[\"']?([^\"';}]+)", tinycss2.serialize(rule.content))[1]
            yield rule.serialize() if family.strip() in read else ""
        else:
            yield rule.serialize()


class Read:
    """What a style and a vocabulary name: custom properties by var(), keyframes and fonts in any other declaration."""

    def __init__(self, css, known):
        self.known, self.properties = known, set(re.findall(r"var\(\s*(--[\w-]+)", css))
        self.rest = re.sub(r"@[a-z-]*keyframes\s+[\w-]+|@font-face\s*\{[^}]*\}", "", css)

    def __contains__(self, name):
        if name.startswith("--"):
            return name in self.properties or name in self.known
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.rest) or name in self.known


@cache
def used_style(css, known):
    """The style, less all that the vocabulary `known` does not reach; the views of a site have the same one."""
    before = None
    while css != before:
        before, read = css, Read(css, known)
        css = "".join(pruned(tinycss2.parse_stylesheet(css, True, True), known, read))
    return css
