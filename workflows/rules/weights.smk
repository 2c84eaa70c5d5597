WEIGHTS_DATA = {
    weights: data for run in PLAN.runs for data, weights in zip(*needs(run))
}


rule weights:
    input:
        ancient(
            lambda wildcards: RESULTS
            / "data"
            / WEIGHTS_DATA[wildcards.weights]
            / "meta.json"
        ),
    output:
        RESULTS / "weights/{weights}.npz",
    resources:
        slot=1,
    shell:
        "python -m pocket.bench weights {wildcards.weights:q} --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
