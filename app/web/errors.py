"""The one place where an error becomes an answer: JSON under `/api/`, a page elsewhere.

A page error names the remedy and keeps the status; htmx is told to swap it into the page's `#notice`.
What is not ours (a bug) is logged with its traceback and shown as a plain apology without details.
"""

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from app.core.errors import AppError, InvalidInput, NotFound
from app.core.i18n import Text
from app.web import render
from app.web.language import language_of
from app.web.security import SECURITY_HEADERS

log = logging.getLogger(__name__)

BUG = Text("Something went wrong on our side.", "程序出错了。")
BUG_REMEDY = Text(
    "The server's log has the details. Nothing you stored was changed by this request.",
    "详情见服务器日志。这次请求没有改动任何已保存的数据。",
)

HTTP = {
    404: (
        Text("There is no page at this address.", "这个地址没有页面。"),
        Text("Start from the home page or search.", "请从首页开始，或使用搜索。"),
    ),
    405: (
        Text("This address does not accept that kind of request.", "这个地址不接受这种请求。"),
        Text("Open the page it belongs to and use its form.", "请打开对应的页面，使用其中的表单。"),
    ),
}
"""What the framework's own errors mean to a reader."""

HEADLINES = {
    403: Text("Not from here", "不能从这里访问"),
    404: Text("Nothing here", "这里没有内容"),
    405: Text("Not this way", "请求方式不对"),
    409: Text("It has moved on", "状态已经变了"),
    422: Text("Something does not fit", "有的输入不对"),
    500: Text("Our mistake", "是我们的问题"),
    503: Text("Not ready for this", "暂时还不行"),
}
OTHER = Text("That did not work", "没有成功")


def install(app: FastAPI) -> None:
    """Register the handlers on `app`."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(Exception, _bug)


async def _app_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    return answer(request, error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message, remedy = HTTP.get(error.status_code, (Text(str(error.detail), str(error.detail)), None))
    wrapped = NotFound(message, remedy=remedy) if error.status_code == 404 else AppError(message, remedy=remedy)
    wrapped.status = error.status_code
    response = answer(request, wrapped)
    response.headers.update(error.headers or {})
    return response


async def _unreadable(request: Request, error: Exception) -> Response:
    """A path, query or form value of the wrong type. One in the path names nothing there is."""
    assert isinstance(error, RequestValidationError)
    places = [(str(detail["loc"][0]), str(detail["loc"][-1])) for detail in error.errors()]
    if any(place == "path" for place, _ in places):
        message, remedy = HTTP[404]
        return answer(request, NotFound(message, remedy=remedy))
    unfit = Text("This value is missing or not of the right kind.", "这个值缺失或类型不对。")
    return answer(request, InvalidInput(dict.fromkeys((name for _, name in places), unfit)))


async def _bug(request: Request, error: Exception) -> Response:
    log.error("unhandled error at %s", request.url.path, exc_info=error)
    response = answer(request, AppError(BUG, remedy=BUG_REMEDY))
    response.headers.update(SECURITY_HEADERS)  # this answer is made outside of the middleware
    return response


def answer(request: Request, error: AppError) -> Response:
    """The answer for `error` in the form the caller expects."""
    language = language_of(request)
    if request.url.path.startswith("/api/"):
        body: dict[str, object] = {"error": error.message[language]}
        if error.remedy:
            body["remedy"] = error.remedy[language]
        if isinstance(error, InvalidInput):
            body["fields"] = {name: text[language] for name, text in error.fields.items()}
        return JSONResponse(body, error.status)
    fields = error.fields if isinstance(error, InvalidInput) else {}
    response = render.page(
        request,
        "error.html",
        block="notice",
        status=error.status,
        error=error,
        fields=fields,
        headline=HEADLINES.get(error.status, OTHER),
    )
    if render.is_fragment(request):
        response.headers["HX-Retarget"] = "#notice"
        response.headers["HX-Reswap"] = "innerHTML"
    return response
