"""A shop by post, the example that `./dev run` starts: a web node takes orders, a worker node does the rest.

order.py       one order as a customer sends it, and what is refused about it
tables.py      the shop's own tables: orders, their lines, stock
database.py    opens them: beside the jobs where these are in SQL, else in a file of the shop's own
checkout.py    takes an order and enqueues its jobs, both or neither
web.py         the web node: the same over HTTP
receipts.py    modules of the worker node, each with its handler: receipts,
stock.py         stock,
reports.py       and the report, whose chart is drawn by chart.py
carrier.py     the carrier, whom receipts have to ask; its state is a few files
places.py      where a run keeps what it makes

made_up.py     makes examples/data/orders.csv, in which some orders are awkward on purpose
feed.py        sends that file to the web node, over several connections
nodes.py       the two nodes as processes that are started again when they die
progress.py    what the terminal shows meanwhile
standstill.py  and why, when nothing gets done any more
summary.py     adds up a finished run, and checks it
begin.py       what comes before a run: its folder, taken, made or emptied
runner.py      all of that together: `python -m examples.shop`
"""
