"""The store of finished pages."""

from starlette.datastructures import Headers

from app.web.page_cache import PageCache


def test_page_of_another_revision_is_not_given() -> None:
    pages = PageCache()
    pages.put("a", "old", revision=1)

    assert pages.get("a", revision=2) is None


def test_new_revision_drops_every_page() -> None:
    pages = PageCache()
    pages.put("a", "old", revision=1)
    pages.put("b", "new", revision=2)

    assert pages.get("a", revision=1) is None


def test_page_made_from_an_older_revision_is_sent_but_not_kept() -> None:
    """A page rendered while the content changed must not stay in the store under the new revision."""
    pages = PageCache()
    pages.put("b", "new", revision=2)

    late = pages.put("a", "old", revision=1)

    assert late.plain == b"old"
    assert pages.get("a", revision=2) is None
    assert pages.get("b", revision=2) is not None


def test_least_used_page_goes_first() -> None:
    pages = PageCache(limit=2)
    pages.put("a", "1", revision=1)
    pages.put("b", "2", revision=1)
    pages.get("a", revision=1)
    pages.put("c", "3", revision=1)

    assert [key for key in "abc" if pages.get(key, revision=1)] == ["a", "c"]


def test_any_known_etag_answers_not_modified() -> None:
    page = PageCache().put("a", "text", revision=1)
    etag = page.response(Headers({})).headers["ETag"]

    assert page.response(Headers({"If-None-Match": f'"other", {etag}'})).status_code == 304
    assert page.response(Headers({"If-None-Match": "*"})).status_code == 304
    assert page.response(Headers({"If-None-Match": '"other"'})).status_code == 200
