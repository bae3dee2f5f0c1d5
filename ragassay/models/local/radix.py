"""A radix tree over token sequences: shared prefixes are stored, and computed, once.

Each node holds a run of tokens and, once computed, the key/value slots of those tokens. The path
from the root to a leaf spells a prompt. The idea is SGLang's RadixAttention (arXiv 2312.07104).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Node:
    """A run of tokens.

    Attributes:
        tokens: The run; empty only for the root.
        start: Position of its first token in the prompt.
        parent: None only for the root.
        children: By their first token.
        slots: Key/value slots, one per token; empty until computed.
    """

    tokens: tuple[int, ...]
    start: int
    parent: Node | None
    children: dict[int, Node] = field(default_factory=dict)
    slots: range | tuple[int, ...] = ()

    @property
    def is_computed(self) -> bool:
        """Return whether the tokens have key/value slots."""
        return len(self.slots) == len(self.tokens)

    def path(self) -> list[Node]:
        """Return the nodes from below the root down to this one."""
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


def common_prefix_length(left: Sequence[object], right: Sequence[object]) -> int:
    """Return how many leading tokens two sequences share."""
    n = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        n += 1
    return n


class RadixTree:
    """Prompts by their shared prefixes."""

    def __init__(self) -> None:
        self.root = Node((), 0, None)

    def insert(self, tokens: Sequence[int]) -> Node:
        """Make `tokens` a path of the tree; return its last node.

        An empty sequence is the root.
        """
        node, position = self.root, 0
        while position < len(tokens):
            child = node.children.get(tokens[position])
            if child is None:
                child = Node(tuple(tokens[position:]), position, node)
                node.children[tokens[position]] = child
                return child
            shared = common_prefix_length(
                child.tokens, tokens[position : position + len(child.tokens)]
            )
            if shared < len(child.tokens):
                self._split(child, shared)
            node, position = child, position + shared
        return node

    def missing(self, leaves: Sequence[Node]) -> list[Node]:
        """Return the nodes to `leaves` that are not computed, parents first, each once."""
        seen: dict[int, Node] = {}
        for leaf in leaves:
            for node in leaf.path():
                if not node.is_computed:
                    seen.setdefault(id(node), node)
        return list(seen.values())

    def keep(self, leaves: Sequence[Node]) -> None:
        """Forget every node that is not on the way to one of `leaves`."""
        wanted = {id(node) for leaf in leaves for node in leaf.path()}
        stack = [self.root]
        while stack:
            node = stack.pop()
            node.children = {t: c for t, c in node.children.items() if id(c) in wanted}
            stack.extend(node.children.values())

    def __iter__(self) -> Iterator[Node]:
        stack = list(self.root.children.values())
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())

    @staticmethod
    def _split(node: Node, at: int) -> None:
        """Cut a node in two; the upper half keeps its identity."""
        lower = Node(node.tokens[at:], node.start + at, node, node.children)
        for child in lower.children.values():
            child.parent = lower
        if node.is_computed:
            lower.slots, node.slots = node.slots[at:], node.slots[:at]
        node.tokens = node.tokens[:at]
        node.children = {lower.tokens[0]: lower}
