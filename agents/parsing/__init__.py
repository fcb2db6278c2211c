"""Questions to tables as queries, word problems and tasks over files as calculations, by a small encoder.

Tables: ``schema`` knows their columns, cells and which column holds the keys of which; ``layout`` writes question
and schema as one row of word pieces (``mentions``: the numbers and dates in it); ``encoder`` is a small BERT in
numpy; ``scoring`` says of each column and cell what part it has; ``decoding`` makes the likeliest queries of that
(``query``), ``composing`` writes each as SQL, and ``parser`` takes the first that finds something. ``problems``
deduces what a word problem computes, step by step. What is learned is remade by ``benchmarks/train_parser.py``.

Tasks over files: ``amounts`` are the numbers, dates and times of a task and of the lines that files say around it,
``showing`` writes both as one row, ``operations`` says what two amounts can come to, and ``calculating`` joins them
step by step, with an encoder of its own (``benchmarks/train_calculations.py``).

Sentences: ``nearness`` says how near each is to a question, ``pointing`` which words of them answer it, or that
none do.
"""
