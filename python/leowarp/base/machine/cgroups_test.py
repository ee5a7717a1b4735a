# SPDX-License-Identifier: Apache-2.0
"""Tests that the smallest limit of a group and its parents applies, in both versions of control groups."""

import os

import pytest

from leowarp.base.machine.cgroups import memory_left_bytes, usable_cores

MIB = 1 << 20


def group(root, path, **files):
    """Make a group's directory with its files. Two underscores in a keyword stand for a dot in the file's name."""
    directory = root / path
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(f"{text}\n")


@pytest.mark.parametrize("limited", ["", "a.slice", "a.slice/job_7", "a.slice/job_7/step/task"])
def test_the_limit_of_any_parent_binds(tmp_path, limited):
    (tmp_path / "cgroup").write_text("0::/a.slice/job_7/step/task\n")
    root = tmp_path / "fs"
    group(root, "a.slice/job_7/step/task", memory__max="max", memory__current=5, cpu__max="max 100000")
    group(root, "a.slice", memory__max=4000 * MIB, memory__current=100 * MIB)
    group(root, limited, memory__max=1024 * MIB, memory__current=100 * MIB, cpu__max="100000 100000")
    assert memory_left_bytes(tmp_path / "cgroup", root) == 924 * MIB
    assert usable_cores(tmp_path / "cgroup", root) == 1


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path):
    (tmp_path / "cgroup").write_text("9:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n1:name=systemd:/docker/x\n0::/\n")
    root = tmp_path / "fs"
    group(root, "memory/docker", memory__limit_in_bytes=600 * MIB, memory__usage_in_bytes=100 * MIB)
    # In version 1 of control groups, the number 9223372036854771712 means "no limit".
    group(root, "memory/docker/x", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=MIB)
    group(root, "cpu,cpuacct/docker/x", cpu__cfs_quota_us=50_000, cpu__cfs_period_us=100_000)
    assert memory_left_bytes(tmp_path / "cgroup", root) == 500 * MIB
    assert usable_cores(tmp_path / "cgroup", root) == 1


def test_a_container_that_sees_its_own_group_as_the_root(tmp_path):
    (tmp_path / "cgroup").write_text("0::/machine.slice/libpod-1.scope/container\n")
    group(tmp_path / "fs", "", memory__max=512 * MIB, memory__current=12 * MIB)
    assert memory_left_bytes(tmp_path / "cgroup", tmp_path / "fs") == 500 * MIB


def test_without_limits_there_is_none(tmp_path):
    assert memory_left_bytes(tmp_path / "nowhere", tmp_path) is None
    assert usable_cores(tmp_path / "nowhere", tmp_path) == len(os.sched_getaffinity(0))
