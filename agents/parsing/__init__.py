"""Questions to tables as queries and word problems as expressions, by one small encoder that was trained for both.

Tables: ``schema`` knows their columns, cells and which column holds the keys of which; ``layout`` writes question
and schema as one row of word pieces (``mentions``: the numbers and dates in it); ``encoder`` is a small BERT in
numpy; ``scoring`` says of each column and cell what part it has; ``decoding`` makes the likeliest queries of that
(``query``), ``composing`` writes each as SQL, and ``parser`` takes the first that finds something. ``problems``
deduces what a word problem computes, step by step. What is learned is remade by ``benchmarks/train_parser.py``.
"""
