"""Colours, patterns and numbers of the SVG. The colours are those of `tokens.css`, light theme.

Every colour is backed by a pattern: communication inside the node is dotted, across nodes crossed, exposed time
hatched; compute is plain.
"""

from app.timelines.catalog import RunOperation

FILL = {"compute": "#0072b2", "intra": "#009e73", "inter": "#e69f00", "memory": "#cc79a7"}
INK = {"compute": "#ffffff", "intra": "#04130e", "inter": "#1a1200", "memory": "#1c0a14"}
EXPOSED = "#d55e00"
TEXT = "#1d2329"
SOFT = "#59626c"
LINE = "#e3dfd6"
SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"


def n(value: float) -> str:
    """A coordinate: one decimal is a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def tone(operation: RunOperation) -> str:
    """What an operation's colour says: a communication's link, else its kind."""
    return operation.link if operation.kind == "communication" else operation.kind


def fill(name: str, embed_id: str) -> str:
    """The paint of a tone: plain for compute, a pattern otherwise."""
    return FILL[name] if name == "compute" else f"url(#{embed_id}-{name})"


def definitions(embed_id: str) -> str:
    """The patterns and the arrow head, under ids that start with `embed_id`."""
    return (
        "<defs>"
        f'<pattern id="{embed_id}-exposed" width="7" height="7" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><rect width="7" height="7" class="tl-exposed-ground" fill="#fbe8da"/>'
        f'<rect width="2.2" height="7" class="tl-exposed-line" fill="{EXPOSED}" fill-opacity="0.75"/></pattern>'
        f'<pattern id="{embed_id}-idle" width="7" height="7" patternUnits="userSpaceOnUse"'
        ' patternTransform="rotate(45)"><rect width="1" height="7" class="tl-idle-line" fill="#c9c6be"/></pattern>'
        f'<pattern id="{embed_id}-intra" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{FILL["intra"]}"/>'
        '<circle cx="2" cy="2" r="0.8" fill="#ffffff" fill-opacity="0.3"/>'
        '<circle cx="6" cy="6" r="0.8" fill="#ffffff" fill-opacity="0.3"/></pattern>'
        f'<pattern id="{embed_id}-inter" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8" fill="{FILL["inter"]}"/>'
        '<path d="M0 0L8 8M8 0L0 8" stroke="#ffffff" stroke-opacity="0.35" stroke-width="0.8"/></pattern>'
        f'<pattern id="{embed_id}-memory" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<rect width="6" height="6" fill="{FILL["memory"]}"/>'
        '<path d="M0 3H6" stroke="#ffffff" stroke-opacity="0.35" stroke-width="1"/></pattern>'
        f'<marker id="{embed_id}-arrow" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5.5" markerHeight="5.5"'
        ' orient="auto" markerUnits="userSpaceOnUse">'
        f'<path d="M0 0L6 3L0 6z" class="tl-arrow" fill="{SOFT}"/></marker>'
        "</defs>"
    )
