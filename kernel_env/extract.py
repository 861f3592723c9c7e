"""The module in a model's reply. The same rule as the server's, tested on the same cases."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,})[ \t]*([^`]*?)[ \t]*\r?")
_PYTHON = {"python", "py", "python3"}


class CodeBlockError(ValueError):
    """A reply without a complete module; the message tells a model what to do."""


def extract_code(text: str) -> str:
    """The Python module in `text`, which is the module itself or a reply with it in a fenced block.

    The last complete block marked python (or py) counts, else the last complete one without a mark.
    Raises CodeBlockError where there is none, or where the reply ends inside its last block.
    """
    python = plain = opened = None
    fenced = False
    at = body = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        fence = _FENCE.fullmatch(text, at, end)
        if fence and opened is None:
            if not fenced and _inside_string(text[:at]):
                return text
            fenced = True
            opened = (len(fence[1]), fence[2])
            body = min(end + 1, len(text))
        elif fence and not fence[2] and len(fence[1]) >= opened[0]:
            block = text[body:at]
            if _is_python(opened[1]):
                python = block
            elif not opened[1]:
                plain = block
            opened = None
        at = end + 1
    if not fenced:
        return text
    if opened is not None and (_is_python(opened[1]) or (python is None and not opened[1])):
        raise CodeBlockError("unterminated code block: the reply ends inside its last block, so the module is "
                             "incomplete; send all of it, closed by ```")
    if python is not None:
        return python
    if plain is not None:
        return plain
    raise CodeBlockError("no Python code block: put the whole module into one block that begins with ```python "
                         "and ends with ```")


def _inside_string(before: str) -> bool:
    return before.count('"""') % 2 == 1 or before.count("'''") % 2 == 1


def _is_python(mark: str) -> bool:
    return re.split(r"[ \t{]", mark, maxsplit=1)[0].lower() in _PYTHON
