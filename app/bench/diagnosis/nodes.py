"""What can go wrong with a node before anything runs on it."""

from app.bench.diagnosis.model import SEE_LOG, Explanation
from app.core.i18n import Text

KINDS: dict[str, Explanation] = {
    "node-silent": Explanation(
        Text("The node did not answer within {text} seconds.", "节点在 {text} 秒内没有应答。"),
        Text(
            "Check that it is up and reachable by hand, then test it again.",
            "请先手工确认它已开机且可以连上，再测试一次。",
        ),
    ),
    "no-such-node": Explanation(
        Text("There is no node {text} any more, or its section is wrong.", "节点 {text} 已不存在，或它的配置有误。"),
        Text(
            "The nodes page lists them, and `ringside node list` does; add it again or choose another.",
            "节点页和 `ringside node list` 列出了所有节点；请重新添加，或另选一个。",
        ),
    ),
    "probe-failed": Explanation(Text("The node could not be asked: {text}", "无法询问节点：{text}"), SEE_LOG),
}
