"""The paper's experiments and more: data, methods, tables and figures, one file each.

    python -m experiments [--only table-mnist-noise] [--quick] [--jobs 2] [--results DIR]

A table or a figure names the runs that it needs and is made from stored results only. A run that has a line in
results/<data>.jsonl is not done again: remove its line to have it done again. joblib decides where runs are done, in
processes of this machine or elsewhere; the process that asked for them writes the results:

    from dask.distributed import Client
    import joblib
    from experiments.__main__ import main

    client = Client("tcp://scheduler:8786")  # with Ray: ray.util.joblib.register_ray()
    with joblib.parallel_config(backend="dask"):  # "ray"
        main(["--jobs", "64"])
"""
