"""The same sweep on a Dask cluster: one argument more, the same bits."""

import sys
from typing import Any

import xarray as xr

import fairair


def main() -> None:
    """Sweep on worker processes of this machine; give a scheduler's address to use another cluster."""
    from distributed import Client

    cell = fairair.Scenario.load("scenarios/khademi2010-fig10.toml").with_(
        {"run.duration": "30 s", "run.warmup": "5 s"}
    )
    grid = {"ap.queue.limit": [10, 50, 200], "tcp.window": [10, 20]}
    address = sys.argv[1] if len(sys.argv) > 1 else None
    connect: Any = Client  # Dask has no types
    with connect(address) if address else connect(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        data = fairair.sweep(cell, grid, replicas=2, executor=client)
    xr.testing.assert_identical(data, fairair.sweep(cell, grid, replicas=2))
    print(data["jain_flows"].to_pandas().round(2))


if __name__ == "__main__":
    main()
