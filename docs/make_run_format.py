"""The tables of docs/run-format.md that describe JSON files, from the types: `python docs/make_run_format.py`."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from safegain.jobs.request import Request
from safegain.runs import certificate_facts, facts

PAGE = Path(__file__).with_name("run-format.md")
SECTIONS = {
    "run.json": (
        *(facts.Facts, facts.Rows, facts.Files, facts.Verdict, facts.ComparedModel, facts.Margin, facts.Part),
        *(
            facts.Checked,
            facts.CheckedClass,
            facts.Worth,
            facts.Record,
            certificate_facts.Certificate,
            certificate_facts.Entry,
        ),
        *(certificate_facts.Pool, facts.Repeats),
        *(facts.Encoder, facts.EncoderParameters),
        *(facts.Estimator, facts.Fitted, facts.Standing, facts.Architecture, facts.StoredModels, facts.StoredModel),
    ),
    "request.json": (Request,),
    "proof-K.json": (certificate_facts.Proof,),
}
PLAIN = {
    inspect.StrType: "text",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    inspect.AnyType: "anything",
    inspect.DataclassType: "object",
}
BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def main() -> None:
    PAGE.write_text(generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def generated(page: str) -> str:
    """The page with its generated parts made anew."""
    for name, kinds in SECTIONS.items():
        begin, end = f"<!-- {name}: made by docs/make_run_format.py -->", f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"{PAGE}: has no part between {begin} and {end}; add the two lines")
        page = "\n\n".join([before + begin, *map(table, kinds), end + after])
    return page


def table(kind: type[msgspec.Struct]) -> str:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    lines = [f"#### {kind.__name__}", "", str(kind.__doc__), "", "| key | type | what |", "|---|---|---|"]
    for field in info.fields:
        told, about = field.type, ""
        while isinstance(told, inspect.Metadata):
            about = about or (told.extra_json_schema or {}).get("description", "")
            told = told.type
        lines.append(f"| `{field.encode_name}` | {words(told)} | {about} |")
    return "\n".join(lines)


def words(kind: Any) -> str:
    if isinstance(kind, inspect.Metadata):
        return words(kind.type)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        name = "whole number" if isinstance(kind, inspect.IntType) else "number"
        found = {sign: getattr(kind, key) for key, sign in BOUNDS.items()}
        bounds = [f"{sign} {bound:g}" for sign, bound in found.items() if bound is not None and abs(bound) < 2**62]
        return " ".join([name, " and ".join(bounds)]).strip()
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(f'`"{value}"`' for value in kind.values)
    if isinstance(kind, inspect.UnionType):
        return " \\| ".join(map(words, kind.types))
    if isinstance(kind, inspect.ListType):
        return f"list of {_item(kind.item_type)}"
    if isinstance(kind, inspect.DictType):
        return f"object of {_item(kind.value_type)}"
    if isinstance(kind, inspect.StructType):
        return f"[{kind.cls.__name__}](#{kind.cls.__name__.lower()})"
    return PLAIN[type(kind)]


def _item(kind: Any) -> str:
    return f"({words(kind)})" if isinstance(kind, inspect.UnionType | inspect.LiteralType) else words(kind)


if __name__ == "__main__":
    main()
