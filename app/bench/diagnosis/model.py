"""What an explained failure is, and the remedies that several share."""

import re
from dataclasses import dataclass

from app.core.i18n import Text

INSTALL_TORCH = Text(
    "Install it with `pip install 'ringside[bench]'`, or run `make setup`.",
    "用 `pip install 'ringside[bench]'` 安装，或运行 `make setup`。",
)
INSTALL_TORCH_ANYWHERE = Text(
    "On this machine run `make setup`, or `pip install 'ringside[bench]'`. On another node run `pip install torch` for the"
    " Python that its settings name.",
    "在本机运行 `make setup` 或 `pip install 'ringside[bench]'`；在其他节点，请为设置中的那个 Python 运行 `pip install torch`。",
)
SEE_LOG = Text("The last lines of the log say more.", "日志最后几行有更多信息。")


@dataclass(frozen=True, slots=True)
class Explanation:
    """`message` says what happened, `remedy` what to do next."""

    message: Text
    remedy: Text


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure with wording of its own: `pattern` is searched in the problem's text and the log.

    Named groups of the pattern fill the fields of the message.
    """

    pattern: re.Pattern[str]
    explanation: Explanation


def cause(pattern: str, message: Text, remedy: Text) -> Cause:
    """A cause from its pattern and the two texts."""
    return Cause(re.compile(pattern), Explanation(message, remedy))
