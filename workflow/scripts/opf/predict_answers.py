"""Get the answers of a model to a set of requests."""

from headwater.core.script import run


def main(inputs, outputs, params, threads, log):
    from headwater.core.io import read_lines, write_lines
    from headwater.opf.benchmark import parser_answers, predicted_answers
    from headwater.opf.prepare import read_cases

    records = read_lines(inputs.records)
    if params.model["source"] == "parser":
        answers = parser_answers(records, read_cases(inputs.cases))
    else:
        path = inputs.answers[0]
        answers = predicted_answers(records, read_lines(path), path)
    write_lines(outputs.answers, answers)


run(main, globals().get("snakemake"))
