# SPDX-License-Identifier: Apache-2.0
"""Computes reordering metrics: `measure` takes a complete sequence, and `Meter` takes a sequence that is still
arriving. The crate `reorder` computes all metrics in one pass over the sequence."""

from __future__ import annotations

from typing import Any

from leowarp.base.errors import TraceError
from leowarp.reordering.columns import length_column, sequence_column, time_column
from leowarp.reordering.native import native
from leowarp.reordering.results import BufferDensity, Density, Extents, Gaps, NReordering, Reordering, Runs, of_native
from leowarp.reordering.settings import THRESHOLD_PKTS, Settings

_AT_ONCE_PKTS = 1 << 20
"""The maximum number of arrivals that are passed to the crate in one call. Ctrl-C is handled between two calls."""


class Meter:
    """A meter of a sequence that is still arriving. The settings limit a meter's memory, which does not grow with the
    number of arrivals.

    Parameters
    ----------
    **settings
        The fields of `Settings`.

    Examples
    --------
    >>> meter = Meter(threshold_pkts=4)
    >>> meter.arrive([1, 4, 2, 5])
    >>> meter.arrive([3, 6, 7, 8])
    >>> meter.measured().density.to_dict()
    {'-2': 0.125, '-1': 0.125, '0': 0.5, '1': 0.125, '2': 0.125}
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(**settings)
        self._native = native.Meter(**self.settings.to_dict())
        self._arrived = 0
        # If some arrival has no time or no length, the mean times or lengths in the result are None.
        self._is_timed = True
        self._has_lengths = True

    def arrive(self, seq: Any, *, t_ns: Any = None, len_bytes: Any = None) -> None:
        """Add further arrivals, in their order.

        Parameters
        ----------
        seq : array-like of shape (n,)
            The sequence numbers in packets, one per packet. Further copies of a packet count as duplicates.
        t_ns : array-like of shape (n,), optional
            The times of arrival in ns, or `datetime64`. If there are no times, the late times and the gaps in ns are
            None.
        len_bytes : array-like of shape (n,), optional
            The payload lengths. Without lengths, the results for byte offsets are None.

        Raises
        ------
        TraceError
            If a number is negative, missing, too large or not an integer, or if the columns have different lengths.
        """
        place = ("index", self._arrived)
        numbers = sequence_column(seq, self.settings.bits, place)
        instants, lengths = time_column(t_ns, place), length_column(len_bytes, place)
        for what, column in (("instants", instants), ("lengths", lengths)):
            if column is not None and len(column) != len(numbers):
                raise TraceError(f"there are {len(numbers)} sequence numbers and {len(column)} {what}")
        # Parts also avoid a second copy of a long column.
        for begin in range(0, len(numbers), _AT_ONCE_PKTS):
            part = slice(begin, begin + _AT_ONCE_PKTS)
            self._native.arrive(numbers[part], *(None if c is None else c[part] for c in (instants, lengths)))
        if len(numbers):
            self._arrived += len(numbers)
            self._is_timed &= instants is not None
            self._has_lengths &= lengths is not None

    def measured(self, sent_pkts: int | None = None) -> Reordering:
        """Return the metrics of the arrivals so far. Further arrivals may follow.

        Parameters
        ----------
        sent_pkts : int, optional
            The number of packets that the sender sent in this sequence of numbers. Without `sent_pkts`, losses above
            the largest arrived number are unknown. Without `first_seq`, losses below the smallest arrived number are
            unknown too.

        Raises
        ------
        TraceError
            If nothing has arrived. No metric is then defined, and a value of 0 would be wrong.
        """
        if not self._arrived:
            raise TraceError("cannot measure an empty sequence: nothing has arrived, so no metric is defined")
        if sent_pkts is not None:
            (sent_pkts,) = (int(number) for number in sequence_column([sent_pkts]))
        numbers = self._native.measured(sent_pkts)
        if sent_pkts is not None and sent_pkts < numbers["received_pkts"]:
            raise TraceError(
                f"{numbers['received_pkts']} packets were received, more than the {sent_pkts} that were sent"
            )
        return of_native(numbers, is_timed=self._is_timed, has_lengths=self._has_lengths)


def measure(
    arrivals: Any, *, t_ns: Any = None, len_bytes: Any = None, sent_pkts: int | None = None, **settings: Any
) -> Reordering:
    """Compute all metrics of a sequence.

    Parameters
    ----------
    arrivals : array-like of shape (n,)
        The sequence numbers of first transmissions in the order of arrival: a list, a numpy array, an Arrow array or
        chunked array, or a pandas series. Duplicates are counted, and are no error.
    t_ns, len_bytes : array-like of shape (n,), optional
        The times of arrival in ns, and the payload lengths in bytes.
    sent_pkts : int, optional
        The number of packets that were sent.
    **settings
        The fields of `Settings`, for example `threshold_pkts`.

    Raises
    ------
    TraceError
        If the sequence is empty or contains invalid sequence numbers.
    ScenarioError
        If a setting is out of range, for example a threshold of 0.

    References
    ----------
    RFC 4737 (Standards Track); RFC 5236 (Informational, independent stream).
    """
    meter = Meter(**settings)
    meter.arrive(arrivals, t_ns=t_ns, len_bytes=len_bytes)
    return meter.measured(sent_pkts)


def density(arrivals: Any, *, threshold_pkts: int = THRESHOLD_PKTS, **settings: Any) -> Density:
    """Return the reorder density RD, the share of packets at each displacement from the order of sending (RFC 5236,
    3.6).

    The parameters `arrivals` and `settings` and the exceptions are the same as for `measure`. The functions below have
    the same parameters, and raise the same exceptions.
    """
    return measure(arrivals, threshold_pkts=threshold_pkts, **settings).density


def buffer_density(arrivals: Any, *, threshold_pkts: int = THRESHOLD_PKTS, **settings: Any) -> BufferDensity:
    """Return the reorder buffer-occupancy density RBD, the share of arrivals at each occupancy of a resequencing buffer
    (RFC 5236, 3.11).

    Examples
    --------
    >>> buffer_density([1, 2, 3, 5, 6, 7, 8, 4, 9, 10]).to_dict()
    {'0': 0.6, '1': 0.1, '2': 0.1, '3': 0.1, '4': 0.1}
    """
    return measure(arrivals, buffer_threshold_pkts=threshold_pkts, **settings).buffer_density


def mean_displacement(arrivals: Any, *, threshold_pkts: int = THRESHOLD_PKTS, **settings: Any) -> float | None:
    """Return the mean displacement (MD) in packets: the sum of abs(i) RD[i] over all displacements i. None means that
    the displacement of every packet exceeds the threshold.

    Examples
    --------
    >>> mean_displacement([1, 2, 3, 5, 6, 7, 8, 4, 9, 10])
    0.8
    """
    return density(arrivals, threshold_pkts=threshold_pkts, **settings).mean_displacement_pkts


def entropy(arrivals: Any, *, threshold_pkts: int = THRESHOLD_PKTS, **settings: Any) -> float | None:
    """Return the reordering entropy (E_r) in nats: minus the sum of RD[i] ln RD[i] over all displacements i. None means
    that the displacement of every packet exceeds the threshold."""
    return density(arrivals, threshold_pkts=threshold_pkts, **settings).entropy_nats


def ratio(arrivals: Any, **settings: Any) -> float | None:
    """Return the share of reordered packets among the received packets (RFC 4737, 4.1)."""
    return measure(arrivals, **settings).reordered_ratio


def extents(arrivals: Any, *, t_ns: Any = None, len_bytes: Any = None, **settings: Any) -> Extents:
    """Return the extents of the reordered packets. The result also says how late they were in time and in bytes (RFC
    4737, 4.2 to 4.4)."""
    return measure(arrivals, t_ns=t_ns, len_bytes=len_bytes, **settings).extents


def n_reordering(arrivals: Any, *, n_max: int = 10, **settings: Any) -> NReordering:
    """Return the share of packets that are n-reordered, for n = 1 to n_max (RFC 4737, 5.3).

    Examples
    --------
    >>> n_reordering([1, 2, 3, 5, 6, 7, 8, 4, 9, 10], n_max=5).to_dict()
    {'1': 0.1, '2': 0.1, '3': 0.1, '4': 0.1, '5': 0.0}
    """
    return measure(arrivals, n_max=n_max, **settings).n_reordering


def runs(arrivals: Any, **settings: Any) -> Runs:
    """Return the reordering-free runs and their variability (RFC 4737, 4.6)."""
    return measure(arrivals, **settings).runs


def gaps(arrivals: Any, *, t_ns: Any = None, **settings: Any) -> Gaps:
    """Return the gaps between reordering discontinuities, in arrivals and in time (RFC 4737, 4.5)."""
    return measure(arrivals, t_ns=t_ns, **settings).gaps
