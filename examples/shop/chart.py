"""Draws the report's chart. Imported when a report is built, since matplotlib is large."""

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from examples.shop.reports import Sales


def chart(sales: "Sales") -> bytes:
    """Turnover by article as a PNG. Without pyplot, whose figures belong to one thread and stay until closed."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.bar([one.code for one in sales.articles], [one.cents / 100 for one in sales.articles], color="#4477aa")
    axes.set_ylabel("EUR")
    axes.set_title(f"{sales.orders} orders")
    axes.tick_params(axis="x", rotation=45)
    image = BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()
