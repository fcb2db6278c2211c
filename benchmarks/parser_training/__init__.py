"""What ``benchmarks/train_parser.py`` learns from and with.

Queries taken apart (``sql_parts``), as labels over what the parser is shown (``labels``); solutions of word
problems as steps (``steps``); the network and its losses (``network``).

And ``benchmarks/train_calculations.py``: steps of tasks over files as calculations (``calculations``), questions to
tables as such tasks (``asked``); its network (``calculator``).
"""
