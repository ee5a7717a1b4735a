# SPDX-License-Identifier: Apache-2.0
"""Settings and fixtures of all tests."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["support.processes", "support.watchdog", "support.chromium", "support.pictures"]


def pytest_addoption(parser):
    parser.addoption("--renew-pictures", action="store_true", help="store what pages show now as the reviewed pictures")
    parser.addoption("--kernel", default="default", help="kernel of the shelf in the default one's place (make shelf)")


# If a shell starts the tests in the background, the tests and their child processes ignore Ctrl-C. Without the handler
# below, the tests of interruptions would therefore wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session):
    # Python need not look for garbage among the 7,000 collected tests and the imported modules.
    gc.collect()
    gc.freeze()


# The time that an example takes depends on the machine, so examples have no deadline. `tools/fuzz.py` sets the number
# of examples.
EXAMPLES = int(os.environ.get("LEOWARP_FUZZ_EXAMPLES", "100"))
settings.register_profile("leowarp", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("leowarp")


@pytest.fixture(autouse=True, scope="session")
def _kernel_in_the_default_ones_place(request):
    """If a test in this process requests the default kernel, it gets the kernel that `--kernel` names."""
    name = request.config.getoption("--kernel")
    if name == "default":
        yield
        return
    from leowarp.guest.building import image
    from leowarp.guest.building import kernel as building

    built = building.kernel

    def chosen(choice="default", **keywords):
        return built(name if choice == "default" else choice, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        for module in (building, image):
            patch.setattr(module, "kernel", chosen)
        yield


@pytest.fixture(autouse=True, scope="session")
def _own_memory_of_trust(tmp_path_factory):
    """Tests must not add to the user's list of trusted code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
