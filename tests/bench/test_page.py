"""The page in a real browser: no error on the console, no request to the outside, tables that sort and filter."""

import html
import json
import re

import pytest
import synthetic
from browser import console, opened, watched


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    _, results = synthetic.build(tmp_path_factory.mktemp("page"))
    return results / "report.html"


def test_the_page_opens_without_a_word_on_the_console_and_holds_tables_and_plots(report, tmp_path):
    dom, stderr = opened(report, tmp_path)
    assert console(stderr) == []
    for name in synthetic.EXPERIMENTS:
        section = re.search(rf'<section id="{name}".*?</section>', dom, flags=re.DOTALL).group(0)
        assert section.count("<tbody>") >= 2, name
        assert re.search(r"<svg[^>]*>.*?<path", section, flags=re.DOTALL), name


def test_the_page_makes_no_request_and_its_policy_blocks_nothing_of_its_own(report, tmp_path):
    told = watched(report, tmp_path)
    assert told == {"errors": [], "blocked": [], "requests": []}


def test_the_watch_sees_errors_and_requests(report, tmp_path):
    """The two tests above would be worth nothing if the watching script saw nothing."""
    told = watched(report, tmp_path, "console.error('heard'); new Image().src = 'http://192.0.2.1/x.png';")
    assert told["errors"] == ["heard"]
    assert told["blocked"] == ["http://192.0.2.1/x.png"]


def test_only_the_pages_own_script_may_run(report, tmp_path):
    copy = tmp_path / "copy.html"
    page = report.read_text(encoding="utf-8")
    copy.write_text(page.replace("</body>", "<script>document.title = 'taken'</script></body>"), encoding="utf-8")
    dom, stderr = opened(copy, tmp_path)
    assert "<title>taken</title>" not in dom
    assert any("Content Security Policy" in line for line in console(stderr))


COLUMN = """
const table = document.querySelector("#batch_sweep table.sortable");
const heads = [...table.tHead.rows[0].cells];
const column = heads.findIndex((head) => head.textContent.includes("live peak"));
const rows = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);
const shown = () => rows().map((row) => row.cells[column].firstChild.data);
told.before = shown();
"""


def test_a_click_on_a_head_sorts_by_number_and_a_second_one_turns_it_round(report, tmp_path):
    action = COLUMN + "heads[column].querySelector('button').click(); told.up = shown(); "
    told = watched(report, tmp_path, action + "heads[column].querySelector('button').click(); told.down = shown();")
    assert told["errors"] == []
    numbers = [float(text) for text in told["before"]]
    assert numbers != sorted(numbers)
    assert [float(text) for text in told["up"]] == sorted(numbers)
    assert [float(text) for text in told["down"]] == sorted(numbers, reverse=True)


def test_empty_cells_stay_last_in_both_directions(report, tmp_path):
    action = COLUMN.replace("#batch_sweep", "#amp") + "heads[column].click(); told.up = shown(); "
    told = watched(report, tmp_path, action + "heads[column].click(); told.down = shown();")
    assert told["up"][-1] == told["down"][-1] == "–"
    assert told["up"][:-1] == told["down"][:-1][::-1]


def test_the_filter_keeps_rows_with_all_its_words(report, tmp_path):
    action = COLUMN + (
        "const input = table.closest('.sheet').querySelector('input.filter');"
        "const type = (text) => { input.value = text; input.dispatchEvent(new Event('input')); return rows().length; };"
        "told.counts = ['', 'pytorch', 'PyTorch 128', 'nothing like it', ''].map(type);"
    )
    assert watched(report, tmp_path, action)["counts"] == [6, 3, 1, 0, 6]


def test_nothing_is_wider_than_a_phone_but_tables_in_their_own_box(report, tmp_path):
    """The page is laid out in a frame 390 pixels wide, as a phone has it."""
    frame = tmp_path / "frame.html"
    page = report.read_text(encoding="utf-8")
    page = re.sub(r"script-src 'sha256-[^']+'", "script-src 'unsafe-inline'", page, count=1)
    measure = (
        "<script>const root = document.documentElement;"
        "const wide = [...document.querySelectorAll('.scroll')].some((box) => box.scrollWidth > box.clientWidth);"
        "parent.postMessage({page: root.scrollWidth, room: root.clientWidth, wide}, '*');</script></body>"
    )
    (tmp_path / "inner.html").write_text(page.replace("</body>", measure), encoding="utf-8")
    frame.write_text(
        "<!doctype html><body><script>addEventListener('message', (e) => {"
        "document.title = JSON.stringify(e.data)});</script>"
        "<iframe src='inner.html' width='390' height='800' style='border:0'></iframe></body>",
        encoding="utf-8",
    )
    dom, _ = opened(frame, tmp_path)
    told = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom).group(1)))
    assert told["page"] <= told["room"] <= 390
    assert told["wide"]
