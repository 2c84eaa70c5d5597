def plot_files(experiment):
    numbers = range(1, len(experiment.show["plots"]) + 1)
    stems = [RESULTS / "plots" / f"{experiment.name}-{number}" for number in numbers]
    return [
        Path(f"{stem}.{ending}") for stem in stems for ending in ("svg", "png", "json")
    ]


for experiment in PLAN.experiments:
    if experiment.show["plots"]:

        rule:
            name:
                f"plots_{experiment.name}"
            input:
                [RESULTS / "records" / f"{run.id}.json" for run in experiment.runs],
            output:
                plot_files(experiment),
            resources:
                slot=1,
            params:
                name=experiment.name,
                show=experiment.show,
                code=JUDGING,
            shell:
                "python -m pocket.bench plots {params.name:q} --suite {PLAN.suite} --device {PLAN.device}"
                " --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
