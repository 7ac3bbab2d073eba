"""Widgets of the book: each is one class in a .py file, with a .js of the same name; core.js is what they share."""

from .assumption_laboratory import AssumptionLaboratory
from .attention_calculator import AttentionCalculator, first_examples
from .base import Misfit, Widget, source
from .dk_laboratory import DkLaboratory
from .search_engine import SearchEngine
from .shape_tracer import ShapeTracer

__all__ = [
    "AssumptionLaboratory",
    "AttentionCalculator",
    "DkLaboratory",
    "Misfit",
    "SearchEngine",
    "ShapeTracer",
    "Widget",
    "first_examples",
    "source",
]
