"""Write the landing page of a run."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_json, write_text
    from headwater.core.page import entry_of, render_index

    entries = [
        entry_of(read_json(path), f"{domain}/report/index.html")
        for domain, path in zip(params.domains, inputs.heads, strict=True)
    ]
    write_text(outputs.page, render_index(f"Headwater: run {params.run}", entries))


run(main, globals().get("snakemake"))
