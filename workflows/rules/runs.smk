def inputs_of_run(wildcards):
    run = RUNS[wildcards.run]
    data, weights = needs(run)
    return [
        *(RESULTS / "data" / name / "meta.json" for name in data),
        *(RESULTS / "weights" / f"{name}.npz" for name in weights),
    ]


# A run ends with status 0 whatever comes of it: its record says what did, and the report is made of records.
# Smaller batches go first: where one runs out of memory, the larger ones of its series need no try.
rule run:
    input:
        ancient(inputs_of_run),
    output:
        RESULTS / "records/{run}.json",
    priority: lambda wildcards: -RUNS[wildcards.run].settings.get("batch_size", 0)
    resources:
        slot=1,
        gpu=lambda wildcards: int(RUNS[wildcards.run].settings["device"] == "cuda"),
    shell:
        "python -m pocket.bench run {wildcards.run:q} --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
