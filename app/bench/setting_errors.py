"""What is wrong with a setting, in both languages: what pydantic found, and variables that may not be set on ranks.

pydantic speaks English only; its kinds of error that our settings can meet are told here in our own words.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from app.bench.spec import ALLOWED_VARIABLES, FORBIDDEN_VARIABLES, MAXIMUM_VARIABLES, BadSpec, require_variables
from app.core.i18n import Text

Kind = Literal["text", "whole", "switch", "choice", "list", "pairs"]

EXPECTED: Mapping[Kind, Text] = {
    "text": Text("Enter text.", "请输入文字。"),
    "whole": Text("Enter a whole number.", "请输入整数。"),
    "switch": Text("Enter yes or no.", "请输入 yes 或 no。"),
    "choice": Text("Choose one of those listed.", "请从列出的选项中选择。"),
    "list": Text("Enter one a line, or with commas between.", "请每行写一个，或用英文逗号分隔。"),
    "pairs": Text("Write each as NAME=VALUE, one a line.", "请写成 NAME=VALUE，每行一个。"),
}
"""What a setting of each kind wants to be given."""

_NEEDED = Text("This is needed.", "这一项必须填写。")


def _choices(context: Mapping[str, Any]) -> Text:
    expected = context["expected"].replace("'", "").replace(" or ", ", ")
    return Text(f"Choose one of {expected}.", f"请从 {expected} 中选择。")


_SAID: Mapping[str, Callable[[Mapping[str, Any]], Text]] = {
    "missing": lambda _: _NEEDED,
    "too_short": lambda _: _NEEDED,
    "string_too_short": lambda _: _NEEDED,
    "extra_forbidden": lambda _: Text("There is no such setting.", "没有这个设置。"),
    "greater_than": lambda context: Text(f"Must be above {context['gt']}.", f"必须大于 {context['gt']}。"),
    "greater_than_equal": lambda context: Text(f"Must be at least {context['ge']}.", f"不能小于 {context['ge']}。"),
    "less_than_equal": lambda context: Text(f"Must be at most {context['le']}.", f"不能大于 {context['le']}。"),
    "too_long": lambda context: Text(f"At most {context['max_length']} of them.", f"最多 {context['max_length']} 个。"),
    "string_too_long": lambda context: Text(
        f"At most {context['max_length']} characters.", f"最多 {context['max_length']} 个字符。"
    ),
    "string_pattern_mismatch": lambda _: Text(
        "Some of these characters are not allowed here.", "含有此处不允许的字符。"
    ),
    "int_parsing": lambda _: EXPECTED["whole"],
    "int_type": lambda _: EXPECTED["whole"],
    "int_from_float": lambda _: EXPECTED["whole"],
    "bool_parsing": lambda _: EXPECTED["switch"],
    "bool_type": lambda _: EXPECTED["switch"],
    "string_type": lambda _: EXPECTED["text"],
    "list_type": lambda _: EXPECTED["list"],
    "tuple_type": lambda _: EXPECTED["list"],
    "dict_type": lambda _: EXPECTED["pairs"],
    "literal_error": _choices,
}


class SettingProblem(ValueError):
    """Raised by a validator of settings: `text` says in both languages what is wrong."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.en)
        self.text = text


def explain(detail: Any) -> Text:
    """What one error of `ValidationError.errors()` means."""
    context = detail.get("ctx", {})
    error = context.get("error")
    if isinstance(error, SettingProblem):
        return error.text
    if isinstance(getattr(error, "__cause__", None), BadSpec) and isinstance(detail["input"], Mapping):
        return variables_problem(detail["input"]) or EXPECTED["pairs"]
    said = _SAID.get(detail["type"])
    if said is not None:
        return said(context)
    reason = detail["msg"].removeprefix("Value error, ").rstrip(".")
    return Text(f"{reason}.", f"这个值不被接受：{reason}。")


def variables_problem(variables: Mapping[str, str]) -> Text | None:
    """Why the variables may not be set on ranks; None when they may."""
    refused = [name for name, value in variables.items() if _is_refused({name: value})]
    if not refused:
        return _too_many() if _is_refused(variables) else None
    name, shown = refused[0], refused[0][:64]
    if not name.startswith(ALLOWED_VARIABLES):
        allowed = ", ".join(ALLOWED_VARIABLES)
        return Text(
            f"{shown} may not be set: it must begin with {allowed}.", f"不能设置 {shown}：变量名须以 {allowed} 开头。"
        )
    if name in FORBIDDEN_VARIABLES:
        return Text(
            f"{shown} may not be set: it would load or write a file.", f"不能设置 {shown}：它会加载或写入文件。"
        )
    return Text(
        f"{shown} has characters in its name or value that none needs.", f"{shown} 的名称或值含有不允许的字符。"
    )


def _too_many() -> Text:
    return Text(f"At most {MAXIMUM_VARIABLES} variables.", f"最多 {MAXIMUM_VARIABLES} 个变量。")


def _is_refused(variables: Mapping[str, str]) -> bool:
    try:
        require_variables(variables)
    except BadSpec:
        return True
    return False
