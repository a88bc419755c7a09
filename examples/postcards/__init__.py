"""A print shop for postcards, the example that `./dev run` starts.

    orders.py     reads the customers' file, and says which rows it cannot use
    shop.py       the web node: enqueues one job for each order
    printing.py   the handlers, which the worker node runs
    places.py     where a run keeps what it makes
    progress.py   what the terminal shows meanwhile, and the summary
    __main__.py   starts the two nodes, watches over them, adds up

The orders are made up. Some of them are awkward on purpose.
"""
