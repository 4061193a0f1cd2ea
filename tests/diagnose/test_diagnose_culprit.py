"""Of a log, the line that says what went wrong, fit to be shown to others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.diagnose.culprit import culprit

VLLM = """\
(APIServer pid=1) INFO 09-09 07:31:10 [api_server.py:2102] vLLM API server version 0.33.0
(EngineCore pid=77) ERROR 09-09 07:36:40 [core.py:1160] EngineCore failed to start.
(EngineCore pid=77) ERROR 09-09 07:36:40 [core.py:1160] Traceback (most recent call last):
(EngineCore pid=77) ERROR 09-09 07:36:40 [core.py:1160]   File "/usr/a.py", line 1, in <module>
(EngineCore pid=77) ERROR 09-09 07:36:40 [core.py:1160]     raise ValueError(text)
(EngineCore pid=77) ERROR 09-09 07:36:40 [core.py:1160] ValueError: 3 heads of /home/ada/model
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (VLLM, "ValueError: 3 heads of <path>"),
        ("INFO all is well\n", ""),
        ("", ""),
        ("torch.OutOfMemoryError: CUDA", "torch.OutOfMemoryError: CUDA"),
        ("\x1b[31m12:00:01 ERROR\x1b[0m no kernel for sm_120", "no kernel for sm_120"),
        ("loading\nGGML_ASSERT(n > 0) failed\nError: it ended", "GGML_ASSERT(n > 0) failed"),
        ("llama_context: error: requested context size too large",
         "llama_context: error: requested context size too large"),
        ("RuntimeError: Engine core initialization failed. See root cause above.", ""),
    ],
)  # fmt: skip
def test_the_line_is_the_failure_s_own(text: str, expected: str) -> None:
    assert culprit(text) == expected


@given(st.text(max_size=400))
def test_any_text_has_one_line_or_none(text: str) -> None:
    assert "\n" not in culprit(text)


def test_a_line_goes_on_over_what_is_no_end_of_a_line() -> None:
    text = "INFO up\n0%\r50%\rValueError: the name a\x0cb\u2028c is no model\r\nINFO down"
    assert culprit(text) == "ValueError: the name a b c is no model"
