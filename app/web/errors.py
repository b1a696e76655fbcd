"""The one place where an error becomes an answer: JSON under `/api/`, a page elsewhere.

A page error names the remedy and keeps the status; htmx is told to swap it into the page's `#notice`.
What is not ours (a bug) is logged with its traceback and shown as a plain apology without details.
"""

import logging

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from app.core.errors import AppError, InvalidInput, NotFound
from app.core.i18n import Text
from app.web import render
from app.web.language import language_of

log = logging.getLogger(__name__)

BUG = Text("Something went wrong on our side.", "程序出错了。")
BUG_REMEDY = Text(
    "The server's log has the details. Nothing you stored was changed by this request.",
    "详情见服务器日志。这次请求没有改动任何已保存的数据。",
)


def install(app: FastAPI) -> None:
    """Register the handlers on `app`."""
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)


async def _app_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    return answer(request, error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return answer(
            request,
            NotFound(
                Text("There is no page at this address.", "这个地址没有页面。"),
                remedy=Text("Start from the home page or search.", "请从首页开始,或使用搜索。"),
            ),
        )
    wrapped = AppError(Text(str(error.detail), str(error.detail)))
    wrapped.status = error.status_code
    return answer(request, wrapped)


async def _bug(request: Request, error: Exception) -> Response:
    log.error("unhandled error at %s", request.url.path, exc_info=error)
    return answer(request, AppError(BUG, remedy=BUG_REMEDY))


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
    response = render.page(request, "error.html", block="notice", status=error.status, error=error)
    if render.is_fragment(request):
        response.headers["HX-Retarget"] = "#notice"
        response.headers["HX-Reswap"] = "innerHTML"
    return response
