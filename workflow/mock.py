"""Run or debug the script behind one output file in this process, without starting jobs.

From a shell:

    python workflow/mock.py results/demo/counts/two_regimes/cube.nc [--configfile FILE ...] [--pdb]

From Python or a notebook, to get what the script's `main` is called with:

    from mock import mock
    job = mock("results/demo/counts/two_regimes/cube.nc")
    main(job.input, job.output, job.params, job.threads, logging.getLogger())

Inputs must be there; outputs are written where the rule says. Nothing is recorded, so the
next `snakemake` treats the file as it would treat any file made by hand.
"""

import argparse
import importlib.util
import logging
import pdb
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def mock(target, configfiles=()):
    """Return the Snakemake job that makes `target`; it has input, output, params, threads, log."""
    from snakemake.api import SnakemakeApi
    from snakemake.settings.types import (
        ConfigSettings,
        DAGSettings,
        OutputSettings,
        Quietness,
        ResourceSettings,
    )

    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL}, verbose=False)) as api:
        workflow_api = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[Path(f) for f in configfiles]),
            snakefile=ROOT / "Snakefile",
        )
        workflow_api.dag(dag_settings=DAGSettings(targets={target}, forcetargets=True))
        workflow = workflow_api._workflow
        workflow._prepare_dag(forceall=False, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        for job in workflow.dag.jobs:
            if target in job.output:
                job.params  # noqa: B018 - evaluated while the workflow is alive
                return job
    raise SystemExit(f"no rule makes {target}")


def script_of(job):
    """Return the module of a job's script."""
    path = Path(job.rule.basedir) / job.rule.script
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    """Run one job's script here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("--configfile", nargs="+", default=[])
    parser.add_argument("--pdb", action="store_true", help="stop at an exception")
    options = parser.parse_args()
    job = mock(options.target, options.configfile)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        script_of(job).main(job.input, job.output, job.params, job.threads, logging.getLogger())
    except Exception:
        if not options.pdb:
            raise
        pdb.post_mortem(sys.exc_info()[2])


if __name__ == "__main__":
    main()
