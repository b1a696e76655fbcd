"""`GET /healthz`: answers when the app is ready, for supervisors and for `make run`."""

from fastapi import APIRouter, Request

from app.web.services import services

router = APIRouter()


@router.get("/healthz")
def healthz(request: Request) -> dict[str, object]:
    """`{"status": "ok", "questions": n, "content_problems": n}`."""
    library = services(request).library
    return {"status": "ok", "questions": len(library.questions()), "content_problems": len(library.problems())}
