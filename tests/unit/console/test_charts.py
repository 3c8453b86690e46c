"""Columns of a chart: their parts add up, and what is small is still to be seen."""

from understudy.console.charts import HEIGHT, LEAST_HEIGHT, stacked

SERIES = {"done": "good", "failed": "bad"}


def test_the_largest_day_fills_the_height_and_parts_stand_on_each_other() -> None:
    chart = stacked(
        [{"day_at_ms": 0, "done": 3, "failed": 1}, {"day_at_ms": 1, "done": 1, "failed": 0}], SERIES
    )
    done, failed = chart.columns[0].parts
    assert (done.y + done.height, failed.y + failed.height) == (HEIGHT, done.y)
    assert failed.y == 0
    assert chart.columns[1].parts[0].height == HEIGHT / 4
    assert (chart.most, chart.totals) == (4, {"done": 4, "failed": 1})


def test_one_of_many_has_a_least_height_and_nothing_has_none() -> None:
    chart = stacked([{"day_at_ms": 0, "done": 10_000, "failed": 1}], SERIES)
    done, failed = chart.columns[0].parts
    assert failed.height == LEAST_HEIGHT
    assert failed.y >= 0
    assert stacked([{"day_at_ms": 0, "done": 0, "failed": 0}], SERIES).most == 0
    assert done.height <= HEIGHT


def test_a_chart_without_days_has_no_columns() -> None:
    assert stacked([], SERIES).columns == ()
