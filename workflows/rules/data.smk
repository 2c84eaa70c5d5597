rule data:
    output:
        RESULTS / "data/{data}/meta.json",
        RESULTS / "data/{data}/x_train.npy",
        RESULTS / "data/{data}/y_train.npy",
        RESULTS / "data/{data}/x_test.npy",
        RESULTS / "data/{data}/y_test.npy",
    resources:
        slot=1,
    shell:
        "python -m pocket.bench data {wildcards.data:q} --experiments {EXPERIMENTS:q} --results {RESULTS:q}"
