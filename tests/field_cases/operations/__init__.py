"""Abstract operations of the cases, each mapped to what the product offers for it."""

from __future__ import annotations

from collections.abc import Callable

from tests.field_cases.bench import Room
from tests.field_cases.cases import Case
from tests.field_cases.operations.compiling import COMPILING
from tests.field_cases.operations.converting import CONVERTING
from tests.field_cases.operations.costing import COSTING
from tests.field_cases.operations.counting import COUNTING
from tests.field_cases.operations.loading import LOADING
from tests.field_cases.operations.marking import MARKING
from tests.field_cases.operations.reading import READING
from tests.field_cases.operations.running import RUNNING
from tests.field_cases.operations.storing import STORING
from tests.field_cases.operations.totalling import TOTALLING
from tests.field_cases.outcome import Outcome

Operation = Callable[[Case, Room], Outcome]

OPERATIONS: dict[str, Operation] = {
    **COMPILING,
    **CONVERTING,
    **MARKING,
    **LOADING,
    **COSTING,
    **COUNTING,
    **READING,
    **RUNNING,
    **STORING,
    **TOTALLING,
}
