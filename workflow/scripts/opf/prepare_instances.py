"""Draw, solve, check and word the instances of one shard."""

from pathlib import Path

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.opf.prepare import read_cases
    from headwater.opf.synth.shard import make_shard, write_shard
    from headwater.opf.synthesis import settings_of

    def progress(done, total):
        if done == total or done % 25 == 0:
            log.info("%d of %d instances", done, total)

    records, rejects = make_shard(
        settings_of(params.settings, params.seed),
        read_cases(inputs.cases),
        params.shard,
        params.settings["shards"],
        work=Path(params.work),
        signature=params.code,
        progress=progress,
    )
    write_shard(Path(outputs.instances), Path(outputs.rejects), records, rejects)


run(main, globals().get("snakemake"))
