"""The paper's experiments and more: data, methods, tables and figures, one file each.

    python -m experiments [--only table-mnist-noise] [--quick] [--jobs 2] [--results DIR]

A table or a figure names the runs that it needs and is made from stored results only. A run that is stored is not
done again: remove its file to have it done again. Another place to run than this machine's processes is joblib's to
choose, and the results are written by the process that asked:

    from dask.distributed import Client
    import joblib
    from experiments.__main__ import main

    client = Client("tcp://scheduler:8786")  # with Ray: ray.util.joblib.register_ray()
    with joblib.parallel_config(backend="dask"):  # "ray"
        main(["--jobs", "64"])
"""
