"""Reads a table of a page."""

import html
import re


def table(page: str, heading: str) -> list[list[str]]:
    """The cells of the body of the table that the element with id `heading` names, without markup."""
    start = page.index(f'aria-labelledby="{heading}"')
    body = page[page.index("<tbody>", start) : page.index("</table>", start)]
    return [
        [
            " ".join(html.unescape(re.sub(r"<[^>]+>", " ", cell)).split())
            for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL)
        ]
        for line in re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    ]
