"""Percentiles in passes over the days equal numpy's over everything."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from headwater.counts.percentiles import quantile

RNG = np.random.default_rng(3)


def field(shape=(401, 5, 3), missing=0.1):
    values = np.round(RNG.gamma(0.5, 6, shape), 1)  # rounded: with ties
    values[RNG.random(shape) < missing] = np.nan
    return xr.DataArray(values, dims=("time", "lat", "lon")[: len(shape)])


@pytest.mark.parametrize("q", [0.0, 0.01, 0.1, 0.33, 0.5, 0.75, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("block", [1, 5000, 10**9])
@pytest.mark.parametrize("shape", [(401, 5, 3), (401, 4), (401,), (1, 2, 2), (2, 2, 2)])
def test_quantiles_equal_numpy(q, block, shape):
    days = field(shape)
    if len(shape) > 1:
        days[..., 0] = np.nan  # no value at all
    with np.errstate(all="ignore"), pytest.warns() if len(shape) > 1 else np.errstate():
        wanted = np.nanquantile(days.values, q, axis=0)
    np.testing.assert_allclose(quantile(days, q, block), wanted, rtol=1e-12)


def test_most_days_missing():
    days = field((200, 3, 2), missing=0.98)
    days[0] = 1.5
    np.testing.assert_allclose(
        quantile(days, 0.9, 10**6), np.nanquantile(days.values, 0.9, axis=0), rtol=1e-12
    )


def test_a_field_larger_than_a_block_is_read_in_blocks_and_few_passes():
    """Blocks are counted while a lazily made field of 64 MB is read with 2 MB blocks."""
    sizes = []

    def made(block_info=None):
        shape = block_info[None]["chunk-shape"]
        sizes.append(int(np.prod(shape)) * 8)
        start = block_info[None]["array-location"][0][0]
        return np.broadcast_to(np.arange(start, start + shape[0])[:, None, None], shape) * 1.0

    lazy = da.map_blocks(made, chunks=((40,) * 50, (64,), (64,)), dtype=float, meta=np.empty(0))
    sizes.clear()
    block = 2 * 2**20
    got = quantile(xr.DataArray(lazy, dims=("time", "lat", "lon")), 0.99, block)
    np.testing.assert_allclose(got, 0.99 * 1999)
    assert max(sizes) <= block
    assert sum(sizes) <= 3 * 2000 * 64 * 64 * 8  # the 1 % largest of all places are 0.7 MB
