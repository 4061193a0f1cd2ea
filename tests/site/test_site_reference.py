"""Reference pages say what the catalogue and the functions say; hand-written pages can't drift."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lxml.html import HtmlElement

import kvgate
from kvgate.attention import answer
from kvgate.catalog.engines import releases
from kvgate.catalog.formats import kv_format, kv_formats
from kvgate.catalog.gpus import gpus
from kvgate.catalog.kernels import kernels
from kvgate.catalog.models import models
from kvgate.kvcache import needs
from kvgate.records.published import record_schema
from kvgate.records.schema import FrontMatter
from kvgate.site.blocks import blocks
from kvgate.site.computed import backends_block, size_block
from kvgate.site.fields import field_tables
from kvgate.site.reference.columns import columns_of
from kvgate.site.reference.matrix import TABLES, changes, matrix
from kvgate.site.reference.models import model_rows
from kvgate.units import format_bytes

if TYPE_CHECKING:
    from tests.site.conftest import Built

DOCS = Path(__file__).resolve().parents[2] / "docs"


def words(element: HtmlElement) -> str:
    """The text of an element, blanks folded."""
    return " ".join(element.text_content().split())


def rows(article: HtmlElement, where: str = ".//table") -> dict[str, list[str]]:
    """The rows of the tables at a place by the text of their first cell."""
    found = {}
    for row in article.xpath(f"({where})//tbody/tr"):
        cells = [words(cell) for cell in row]
        found[cells[0]] = cells[1:]
    return found


# ------------------------------------------------------------------------------------------ models


def test_each_model_of_the_catalogue_has_a_row_with_what_the_functions_say() -> None:
    found = {row.id: row for row in model_rows()}
    assert set(found) == set(models())
    for name in (
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        "deepseek-ai/DeepSeek-V3",
        "openai/gpt-oss-20b",
    ):
        arch = kvgate.model(name)
        need = needs(arch)
        row = found[name]
        assert row.per_token == need.bytes_per_token
        assert row.window == need.window_bytes_per_sequence
        assert row.state == need.state_bytes_per_sequence
        assert row.context == arch.max_position_embeddings
        assert row.context
        assert row.at_context == need.sequence_bytes(row.context)
    assert found["Qwen/Qwen3-Next-80B-A3B-Instruct"].per_token == 24 * 1024


def test_no_model_of_the_catalogue_is_left_unsized() -> None:
    assert {row.id: row.refused for row in model_rows() if row.refused} == {}


@pytest.mark.slow
def test_the_models_page_is_sorted_by_bytes_per_token(own_site: Built) -> None:
    cells = own_site.article("reference/models/index.html").xpath(
        "//table[@id='kv-models']/tbody/tr/td[2]/@data-v"
    )
    values = [float(value) for value in cells if value]
    assert len(cells) == len(models())
    assert values == sorted(values)


# ------------------------------------------------------------------------------------ GPUs, formats


@pytest.mark.slow
def test_each_gpu_stands_under_its_generation_with_the_memory_its_driver_reports(
    own_site: Built,
) -> None:
    article = own_site.article("reference/gpus/index.html")
    found = rows(article)
    for card in gpus():
        row = next(c for n, c in found.items() if n == card.name or n == f"{card.name}{card.note}")
        assert row[0] == f"{card.memory_mib:,} MiB"
        assert article.xpath(f".//h2[@id='{card.arch}']")


@pytest.mark.slow
def test_each_format_is_shown_with_its_parts_and_those_of_the_same_size(own_site: Built) -> None:
    article = own_site.article("reference/kv-formats/index.html")
    found = rows(article, ".//table[@data-kv-sort]")
    assert set(found) == {f.name for f in kv_formats()}
    assert found["bf16"][1:3] == ["512 B", "1,152 B"]
    assert found["fp8_ds_mla"][1:3] == ["–", "656 B"]
    assert kv_format("fp8_ds_mla").record_bytes == 656
    (heading,) = article.xpath(".//h2[@id='v41_fp8_inline']")
    text = " ".join(words(e) for e in heading.itersiblings() if e.tag == "ul")
    assert "v41_fp8_footer" in text
    assert "glm53_nope_fp8" in text


@pytest.mark.slow
def test_a_kernel_has_a_cell_for_each_capability_and_no_more_than_it_can(own_site: Built) -> None:
    article = own_site.article("reference/kernels/index.html")
    heads = [words(h) for h in article.xpath("(.//table)[1]/thead/tr/th")][1:]
    found = rows(article, "(.//table)[1]")
    for kernel in kernels():
        for head, cell in zip(heads, found[kernel.name], strict=True):
            for at in head.split(", "):
                assert ("no code" not in cell) is (at in kernel.sm), (kernel.id, at)
                assert cell.startswith("paged") is (at in kernel.paged_kv), (kernel.id, at)
                assert ("fp8" in cell) is (at in kernel.fp8_kv and at in kernel.paged_kv)


# ---------------------------------------------------------------------------------------- backends


def test_a_matrix_says_what_the_release_answers() -> None:
    plain = TABLES[0]
    made = matrix("0.33.0", plain)
    for at in ("8.0", "9.0", "12.0"):
        for head in (128, 512):
            said = answer({"engine": "vllm==0.33.0", "sm": at, "head_size": head, "kv": "auto"})
            assert made.auto[at][head].name == said["auto"]
            for name, places in made.cells.items():
                if at in places:
                    assert (head in places[at].takes) is (name in said["valid"])


def test_a_choice_that_then_fails_is_told_from_one_that_runs() -> None:
    mla_fp8 = next(table for table in TABLES if table.id == "mla-fp8")
    made = matrix("0.33.0", mla_fp8)
    assert made.auto["8.0"][576].name == "TRITON_MLA"
    assert "native FP8 (fp8e4nv) requires SM89+" in made.auto["8.0"][576].fails
    assert made.auto["9.0"][576].fails == ""


def test_what_changed_between_two_releases_is_said_with_its_capabilities() -> None:
    plain = TABLES[0]
    found = dict(changes(matrix("0.21.0", plain), matrix("0.22.0", plain)))
    (taken,) = (places for said, places in found.items() if said == "FLASHINFER takes heads 512")
    assert "8.0" in taken
    assert list(changes(matrix("0.22.0", plain), matrix("0.22.0", plain))) == []


def test_a_dtype_that_a_release_does_not_know_leaves_its_table_out_with_the_reason() -> None:
    from kvgate.site.reference.matrix import Table

    made = matrix("0.33.0", Table("x", "X", (("kv", "no_such_dtype"),), (128,)))
    assert "no_such_dtype" in made.unknown
    assert made.columns == [made.capabilities]


def test_columns_that_say_the_same_stand_together_and_no_others() -> None:
    content = {"8.0": 1, "8.6": 1, "9.0": 2, "10.0": 1}
    assert columns_of(content, content.__getitem__) == [("8.0", "8.6"), ("9.0",), ("10.0",)]


@pytest.mark.slow
def test_each_release_has_a_page_with_a_reason_in_each_refused_cell(own_site: Built) -> None:
    for version in map(str, releases("vllm")):
        article = own_site.article(f"reference/backends/vllm-{version}/index.html")
        cells = article.xpath(".//table[contains(@class, 'kv-matrix')]//div[@class='kv-no']")
        assert cells, version
        assert all(words(cell) for cell in cells)
        listed = own_site.article("reference/backends/index.html").xpath(".//li/a/@href")
        assert f"vllm-{version}/" in listed
    old, new = (
        rows(
            own_site.article(f"reference/backends/vllm-{v}/index.html"),
            ".//h2[@id='plain']/following-sibling::div[1]",
        )["FLASHINFER"]
        for v in ("0.21.0", "0.22.0")
    )
    assert any("512: head_size not supported" in cell for cell in old)
    assert not any("512: head_size not supported" in cell for cell in new)


# ------------------------------------------------------------------------- pages written by hand


def test_the_fields_of_a_record_are_those_of_its_schema() -> None:
    tables = field_tables()
    assert [row.name for row in tables[0].rows] == list(FrontMatter.model_fields)
    required = {row.name for row in tables[0].rows if row.required}
    assert required == set(record_schema()["required"])
    assert {table.title for table in tables[1:]} == set(record_schema()["$defs"])
    assert all(row.about and row.holds for table in tables for row in table.rows)


@pytest.mark.slow
def test_the_page_of_the_record_shows_each_field(own_site: Built) -> None:
    text = own_site.article("reference/record/index.html").text_content()
    for name in FrontMatter.model_fields:
        assert name in text
    (severity,) = (r for r in field_tables()[0].rows if r.name == "severity")
    assert severity.holds in " ".join(text.split())


def test_the_page_of_the_record_names_each_function_that_claims_can_call() -> None:
    text = (DOCS / "reference" / "record.md").read_text(encoding="utf-8")
    missing = [name for name in kvgate.__all__ if f"`{name}`" not in text]
    assert missing == []


def test_the_page_of_the_record_names_each_hole_and_section() -> None:
    from kvgate.diagnose.signature import HOLES
    from kvgate.records.body import REQUIRED

    text = (DOCS / "reference" / "record.md").read_text(encoding="utf-8")
    for hole in (*HOLES, "*"):
        assert f"`{{{hole}}}`" in text
    for section in REQUIRED:
        assert f"`## {section}`" in text


@pytest.mark.slow
def test_the_page_about_data_names_every_kind_of_document_there_is(own_site: Built) -> None:
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    top = {p.name for p in own_site.folder.iterdir() if p.is_file()} - {"404.html", "index.html"}
    data = {f"api/v1/{p.name}" for p in (own_site.folder / "api" / "v1").iterdir() if p.is_file()}
    for name in {*top, *data, "api/v1/gotchas/<id>.json", "gotchas/<id>.md"} - {"sitemap.xml.gz"}:
        assert f"`{name}`" in text, name


def test_the_page_about_data_names_every_block_and_option() -> None:
    from kvgate.site.plugin import KvgateConfig

    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    for name in (*blocks(None, str), *(name for name, _ in KvgateConfig._schema)):  # type: ignore[arg-type]
        assert re.search(rf"\b{name}\b", text), name


def test_a_computed_block_shows_what_the_functions_say() -> None:
    sizing = kvgate.size("Qwen/Qwen3-8B", gpu="H100", engine="vllm==0.33.0", tp=2)
    shown = size_block("Qwen/Qwen3-8B gpu=H100 engine=vllm==0.33.0 tp=2")
    assert "kvgate size Qwen/Qwen3-8B --gpu H100 --engine vllm==0.33.0 --tp 2" in shown
    assert all(
        line.replace("'", "&#39;").replace('"', "&#34;") in shown for line in sizing.explanation
    )
    assert format_bytes(sizing.needs.bytes_per_token) in shown
    gates = backends_block('google/gemma-4-31B-it gpu="RTX PRO 6000" engine=vllm==0.33.0')
    assert "head_size not supported" in gates
    assert "--gpu &#39;RTX PRO 6000&#39;" in gates


def test_a_computed_block_for_something_unknown_is_an_error_that_names_it() -> None:
    from kvgate.errors import InputError

    with pytest.raises(InputError, match="no-such-model"):
        size_block("org/no-such-model")
    with pytest.raises(InputError, match="colour"):
        size_block("Qwen/Qwen3-8B colour=red")


@pytest.mark.slow
def test_no_block_of_a_page_was_left_unfilled(own_site: Built) -> None:
    for path in own_site.folder.rglob("*.html"):
        assert "<!-- kvgate:" not in path.read_text(encoding="utf-8"), path
    assert "a block can't be made" not in own_site.log


@pytest.mark.slow
def test_the_first_page_is_light(own_site: Built) -> None:
    import gzip

    page = own_site.page("index.html")
    parts = [own_site.folder / "index.html"]
    addresses = page.xpath("//link[@rel='stylesheet']/@href | //script/@src")
    parts += [own_site.folder / own_site.target("index.html", a)[0] for a in addresses]
    parts += sorted((own_site.folder / "assets" / "kvgate").glob("*.js"))
    sent = sum(len(gzip.compress(part.read_bytes())) for part in dict.fromkeys(parts))
    assert sent < 300_000
