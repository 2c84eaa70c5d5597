for experiment in PLAN.experiments:

    rule:
        name:
            f"table_{experiment.name}"
        input:
            [RESULTS / "records" / f"{run.id}.json" for run in experiment.runs],
        output:
            RESULTS / "tables" / f"{experiment.name}.csv",
        resources:
            slot=1,
        params:
            name=experiment.name,
            show=experiment.show,
            code=JUDGING,
        shell:
            "python -m pocket.bench tables {params.name:q} --suite {PLAN.suite} --device {PLAN.device}"
            " --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
