# SPDX-License-Identifier: Apache-2.0
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from leowarp.base.errors import ScenarioError
from leowarp.trace import TABLES, read, read_in_words
from leowarp.trace.words import in_words

CODED = [(table, column) for table in TABLES.values() for column in table.columns if column.words]
NAMED = [(table, column) for table in TABLES.values() for column in table.columns if column.names]
HOSTS = ["host:A", "host:B"]


def made(table, **columns):
    """Return a trace table with two rows. `columns` has the values of some columns. In the other columns, integers are
    0, and all other values are missing."""
    schema = table.arrow({"hosts": HOSTS, "nodes": HOSTS})
    zero = {field.name: pa.array([0, 0]) if pa.types.is_integer(field.type) else pa.nulls(2) for field in schema}
    values = [pa.array(columns.get(field.name, zero[field.name])).cast(field.type) for field in schema]
    return pa.Table.from_arrays(values, schema=schema)


def test_every_enumeration_is_known_to_be_one():
    assert {(table.name, column.name) for table, column in CODED} == {
        ("sockets", "state"), ("sockets", "ca_state"), ("packets", "direction"), ("packets", "drop_cause"),
        ("bins", "direction"), ("delays", "quantity"), ("drops", "cause"), ("drops", "flow_direction"),
        ("switches", "refused"), ("merges", "refused"), ("reordering", "scope"), ("densities", "scope"),
        ("densities", "kind"), ("measures", "role"),
    }  # fmt: skip
    # A column of small numbers contains codes, unless its numbers are counts, sums of bits or IP protocol numbers.
    small = {
        (table.name, column.name)
        for table in TABLES.values()
        for column in table.columns
        if column.type == pa.uint8() and not column.words
    }
    assert small == {("sockets", "backoff"), ("packets", "stored_because"), ("orders", "protocol")}
    assert {column.name for _, column in NAMED} == {
        "host", "told_host", "destination_host", "source_host", "node",
    }  # fmt: skip


@pytest.mark.parametrize(("table", "column"), CODED, ids=lambda each: each.name)
def test_each_number_of_an_enumeration_becomes_its_word_and_one_of_a_newer_version_its_digits(table, column):
    for number, word in column.words.items():
        numbers = made(table, **{column.name: [number, 250]})
        told, ordered = (in_words(numbers, table.name, categories=each) for each in (False, True))
        assert told.column(column.name).to_pylist() == ordered.column(column.name).to_pylist() == [word, "250"]
        assert told.sort_by(column.name).num_rows == 2
        assert ordered.column(column.name).chunk(0).dictionary.to_pylist() == [*column.words.values(), "250"]
        assert told.schema.field(column.name).metadata == table.arrow().field(column.name).metadata


@pytest.mark.parametrize(("table", "column"), NAMED, ids=lambda each: each.name)
def test_hosts_and_nodes_have_their_names_if_the_file_has_them(table, column):
    numbers = made(table, **{column.name: [1, 2]})
    assert in_words(numbers, table.name).column(column.name).to_pylist() == ["host:B", "2"]
    without = numbers.replace_schema_metadata(None)
    assert in_words(without, table.name).column(column.name).to_pylist() == [1, 2]


@pytest.fixture
def trace(tmp_path):
    """A trace with a table of two drops: a data packet that a queue dropped, and a return packet that a link lost."""
    drops = made(TABLES["drops"], cause=[1, 2], flow_direction=[0, 1], flow=[0, 1], t_ns=[5, 6])
    pq.write_table(drops, tmp_path / "drops.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "filters",
    [
        [("cause", "==", "loss")],
        [("cause", "in", ["loss", "no_route"]), ("t_ns", ">", 0)],
        [[("cause", "==", "loss"), ("flow", "==", 1)], [("flow_direction", "!=", "data")]],
        [("flow", "==", 1)],
        pc.field("cause") == "loss",
    ],
)
def test_a_filter_has_the_words_that_the_table_has(trace, filters):
    assert read_in_words(trace, "drops", filters=filters).column("t_ns").to_pylist() == [6]
    assert read_in_words(trace, "drops", filters=filters, columns=["flow"]).to_pydict() == {"flow": [1]}
    # The Parquet file itself still contains the numbers of the causes.
    assert read(trace, "drops").column("cause").to_pylist() == [1, 2]


@pytest.mark.parametrize("value", [0, 2, "los", "2"])
def test_a_filter_that_no_row_can_have_is_an_error_with_the_words(trace, value):
    with pytest.raises(ScenarioError, match="cause is never") as raised:
        read_in_words(trace, "drops", filters=[("cause", "==", value)])
    assert str(raised.value.hint).endswith("one of queue, loss, link_down, no_route, unknown")
    with pytest.raises(ScenarioError, match="filtering the table drops"):
        read_in_words(trace, "drops", filters=[("cause", "==", "loss"), ("nothing", "==", 1)])
    with pytest.raises(ScenarioError, match="filtering the table drops"):
        read_in_words(trace, "drops", filters=pc.field("cause") == 2)
