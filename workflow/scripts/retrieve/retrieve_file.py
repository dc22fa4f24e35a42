"""Get one file: from the mirror, else from the network, checked against its sha256."""

import os

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.retrieve import obtain

    obtain(
        params.row,
        outputs.file,
        mirror=os.environ.get("HEADWATER_MIRROR"),
        offline=os.environ.get("HEADWATER_OFFLINE") == "1",
        log=log,
    )


run(main, globals().get("snakemake"))
