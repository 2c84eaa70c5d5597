rule kernels:
    input:
        sorted(Path("pocket/engine/kernels").glob("*.py")),
    output:
        RESULTS / "kernels.json",
    resources:
        slot=1,
    shell:
        "python -m pocket.bench kernels --results {RESULTS:q}"
