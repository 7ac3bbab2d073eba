"""Widgets of the book: each is one class in a .py file, with a .js of the same name; core.js is what they share."""

from .assumption_laboratory import AssumptionLaboratory
from .attention_calculator import AttentionCalculator, first_examples
from .base import Misfit, Widget, source
from .cost_explorer import CostExplorer
from .dk_laboratory import DkLaboratory
from .gradient_paths import GradientPaths
from .head_explorer import HeadExplorer
from .head_mixer import HeadMixer
from .mask_painter import MaskPainter
from .score_functions import ScoreFunctions
from .search_engine import SearchEngine
from .shape_tracer import ShapeTracer
from .shuffled_tokens import ShuffledTokens
from .softmax_jacobian import SoftmaxJacobian
from .weights_film import WeightsFilm

__all__ = [
    "AssumptionLaboratory",
    "AttentionCalculator",
    "CostExplorer",
    "DkLaboratory",
    "GradientPaths",
    "HeadExplorer",
    "HeadMixer",
    "MaskPainter",
    "Misfit",
    "ScoreFunctions",
    "SearchEngine",
    "ShapeTracer",
    "ShuffledTokens",
    "SoftmaxJacobian",
    "WeightsFilm",
    "Widget",
    "first_examples",
    "source",
]
