rule report:
    input:
        [
            RESULTS / "tables" / f"{experiment.name}.csv"
            for experiment in PLAN.experiments
        ],
        [file for experiment in PLAN.experiments for file in plot_files(experiment)],
    output:
        RESULTS / "report.html",
    resources:
        slot=1,
    params:
        code=JUDGING,
        texts=[
            (each.name, each.question, each.title, each.notes)
            for each in PLAN.experiments
        ],
    shell:
        "python -m pocket.bench report --suite {PLAN.suite} --device {PLAN.device}"
        " --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
