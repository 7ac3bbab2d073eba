"""Widgets of the book: each is one class in a .py file, with a .js of the same name; core.js is what they share."""

from .assumption_laboratory import AssumptionLaboratory
from .attention_calculator import AttentionCalculator, first_examples
from .base import Misfit, Widget, source
from .dk_laboratory import DkLaboratory
from .gradient_paths import GradientPaths
from .head_mixer import HeadMixer
from .mask_painter import MaskPainter
from .score_functions import ScoreFunctions
from .search_engine import SearchEngine
from .shape_tracer import ShapeTracer
from .softmax_jacobian import SoftmaxJacobian
from .weights_film import WeightsFilm

__all__ = [
    "AssumptionLaboratory",
    "AttentionCalculator",
    "DkLaboratory",
    "GradientPaths",
    "HeadMixer",
    "MaskPainter",
    "Misfit",
    "ScoreFunctions",
    "SearchEngine",
    "ShapeTracer",
    "SoftmaxJacobian",
    "WeightsFilm",
    "Widget",
    "first_examples",
    "source",
]
