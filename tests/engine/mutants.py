"""Mutants: every one-place change of a function that a careless hand could make in a backward.

`of(function)` yields (what was changed, code object). Changed, one at a time:

    +=, -=          to = and to the opposite sign
    a + b, a - b    to the opposite sign
    -a, also -1     to a, to 1
    a * b, a / b    the factor or divisor b is left out, and a where it is a number
    axis numbers    each to its neighbour, alone or in a tuple; the same in transpose, swapaxes and moveaxis
    transposes      .T and .transpose(...) left out

and the same where NumPy spells it np.add(a, b, out=a), np.multiply(a, b, out=c), x.sum(0).

What only words an error is left alone. A mutant is used by putting its code object in the place of the function's own:
whoever calls the function then calls the mutant, and nothing is imported or compiled anew.
"""

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

AXIS_METHODS = {"transpose", "swapaxes", "moveaxis"}
REDUCTIONS = {"sum", "mean", "max", "min"}
OPPOSITE = {"add": "subtract", "subtract": "add"}
Change = Callable[[ast.AST], ast.AST]


def of(function: FunctionType) -> Iterator[tuple[str, CodeType]]:
    """All mutants of a function, in the order of its source. Docstrings, decorators and defaults stay as they are."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []
    first_line = function.__code__.co_firstlineno
    words = {inner for node in ast.walk(tree) if isinstance(node, ast.Raise) for inner in ast.walk(node)}
    for index, node in enumerate(ast.walk(tree)):
        if node in words:
            continue
        for what, change in _changes(node):
            mutated = copy.deepcopy(tree)
            target = next(other for i, other in enumerate(ast.walk(mutated)) if i == index)
            mutated = ast.fix_missing_locations(_Replace(target, change).visit(mutated))
            line = first_line + getattr(node, "lineno", 1) - tree.body[0].lineno
            yield f"line {line}: {what}", _code(mutated, function)


class _Replace(ast.NodeTransformer):
    """Puts change(target) where target stood."""

    def __init__(self, target: ast.AST, change: Change):
        self.target, self.change = target, change

    def visit(self, node):
        return self.change(node) if node is self.target else self.generic_visit(node)


def _code(tree: ast.Module, function: FunctionType) -> CodeType:
    module = compile(tree, inspect.getfile(function), "exec")
    return next(c for c in module.co_consts if isinstance(c, CodeType) and c.co_name == function.__name__)


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _of_augmented(node)
    elif isinstance(node, ast.BinOp):
        yield from _of_arithmetic(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield f"{_text(node)} without its sign", lambda n: n.operand
    elif isinstance(node, ast.keyword) and node.arg in ("axis", "axes"):
        yield from _of_axes(node.value, lambda n: n.value, _text(node))
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield f"{_text(node)} without .T", lambda n: n.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from _of_call(node)


def _of_augmented(node: ast.AugAssign) -> Iterator[tuple[str, Change]]:
    opposite = ast.Sub if isinstance(node.op, ast.Add) else ast.Add

    def assigned(n):
        return ast.copy_location(ast.Assign(targets=[n.target], value=n.value), n)

    yield f"{_text(node)} assigned instead", assigned
    yield f"{_text(node)} with the opposite sign", lambda n: _with_operator(n, opposite)


def _of_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, Change]]:
    if isinstance(node.op, ast.Add | ast.Sub):
        opposite = ast.Sub if isinstance(node.op, ast.Add) else ast.Add
        yield f"{_text(node)} with the opposite sign", lambda n: _with_operator(n, opposite)
    elif isinstance(node.op, ast.Mult | ast.Div):
        yield f"{_text(node)} without its second factor", lambda n: n.left
        if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
            yield f"{_text(node)} without its first factor", lambda n: n.right


def _with_operator(node, operator):
    node.op = operator()
    return node


def _of_axes(value: ast.expr, find: Callable, where: str) -> Iterator[tuple[str, Change]]:
    elements = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    for place, element in enumerate(elements):
        number = _number(element)
        if number is None:
            continue

        def change(n, place=place, number=number):
            container = find(n)
            neighbour = ast.copy_location(ast.Constant(number - 1 if number > 0 else number + 1), container)
            if isinstance(container, ast.Tuple | ast.List):
                container.elts[place] = neighbour
            elif isinstance(n, ast.keyword):
                n.value = neighbour
            else:
                n.args[0] = neighbour
            return n

        yield f"{where} with axis {number} moved", change


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value
    return None


def _of_call(node: ast.Call) -> Iterator[tuple[str, Change]]:
    name, of_numpy = node.func.attr, _is_numpy(node.func.value)
    if name in AXIS_METHODS:
        yield from _of_axis_call(node)
    elif name in REDUCTIONS and not of_numpy and node.args:
        yield from _of_axes(node.args[0], lambda n: n.args[0], _text(node))
    elif of_numpy and name in OPPOSITE:
        yield f"{_text(node)} with the opposite sign", _renamed(OPPOSITE[name])
        out = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "out"]
        if out == [ast.unparse(node.args[0])]:
            yield f"{_text(node)} assigned instead", _renamed("positive", keep=1)
    elif of_numpy and name in ("multiply", "divide"):
        yield f"{_text(node)} without its second factor", _renamed("positive", keep=0)


def _renamed(name: str, keep: int | None = None) -> Change:
    def change(n):
        n.func.attr = name
        n.args = n.args if keep is None else [n.args[keep]]
        return n

    return change


def _of_axis_call(node: ast.Call) -> Iterator[tuple[str, Change]]:
    receiver = node.func.value if not _is_numpy(node.func.value) else node.args[0]
    yield f"{_text(node)} left out", lambda n: n.func.value if receiver is node.func.value else n.args[0]
    if node.func.attr == "transpose" and sum(_number(axis) is not None for axis in _axes(node)) > 1:

        def exchanged(n):
            axes = _axes(n)
            axes[-1], axes[-2] = axes[-2], axes[-1]
            return n

        yield f"{_text(node)} with its last two axes exchanged", exchanged


def _axes(call: ast.Call) -> list[ast.expr]:
    last = call.args[-1] if call.args else None
    return last.elts if isinstance(last, ast.Tuple | ast.List) else call.args


def _is_numpy(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "np"


def _text(node: ast.AST) -> str:
    text = ast.unparse(node.value) if isinstance(node, ast.keyword) else ast.unparse(node)
    return f"`{text if len(text) < 90 else text[:87] + '...'}`"
