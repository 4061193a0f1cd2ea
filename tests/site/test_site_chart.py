"""Models side by side: what the chart draws is what the functions say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from kvgate.architecture import model
from kvgate.errors import InputError
from kvgate.kvcache import needs
from kvgate.site.chart import chart
from kvgate.site.computed import chart_block
from kvgate.site.reference.models import DRAWN
from kvgate.units import format_bytes

if TYPE_CHECKING:
    from tests.site.conftest import Built


def _figure(models: Sequence[str]) -> Any:
    (figure,) = html.fragments_fromstring(str(chart(models)))
    return figure


def test_each_model_has_a_line_that_ends_in_its_name_and_need() -> None:
    figure = _figure(DRAWN)
    lines = figure.xpath(".//g[contains(@class, 'kv-line')]")
    assert len(lines) == len(DRAWN)
    for name, line in zip(DRAWN, lines, strict=True):
        arch = model(name)
        assert arch.max_position_embeddings
        need = needs(arch).sequence_bytes(arch.max_position_embeddings)
        assert line.xpath("string(text)") == f"{name.rpartition('/')[2]}: {format_bytes(need)}"


def test_twice_the_tokens_of_plain_attention_are_one_step_on_both_axes() -> None:
    figure = _figure(["Qwen/Qwen3-8B"])
    points = figure.xpath("string(.//polyline/@points)").split()
    places = [tuple(map(float, point.split(","))) for point in points][:4]
    steps = [(b[0] - a[0], a[1] - b[1]) for a, b in pairwise(places)]
    assert all(across > 0 and up > 0 for across, up in steps)
    assert max(up for _, up in steps) - min(up for _, up in steps) < 0.3


def test_no_two_names_stand_upon_another() -> None:
    figure = _figure(DRAWN)
    heights = sorted(float(y) for y in figure.xpath(".//g/text/@y"))
    assert all(b - a >= 14.8 for a, b in pairwise(heights))
    assert heights[-1] < 460


def test_a_model_that_is_not_in_the_catalogue_is_an_error() -> None:
    with pytest.raises(InputError):
        chart_block("nobody/nothing")
    with pytest.raises(InputError, match="names no model"):
        chart_block("")


@pytest.mark.slow
def test_the_models_page_draws_them_and_a_record_leads_to_the_map_and_the_form(
    own_site: Built,
) -> None:
    assert len(own_site.article("reference/models/index.html").xpath(".//g/polyline")) == len(DRAWN)
    page = own_site.article("gotchas/flashinfer-rejects-large-head-dim/index.html")
    assert "../../map/?of=flashinfer-rejects-large-head-dim" in page.xpath(".//a/@href")
    forms = [a for a in page.xpath(".//a/@href") if "issues/new" in a]
    assert len(forms) == 2
    for form in forms:
        assert "template=wrong.yml&title=flashinfer-rejects-large-head-dim" in form
        assert "&id=flashinfer-rejects-large-head-dim&what=It+" in form
