"""How the adapters that ship are made: worked examples of our own (``*.jsonl``), GSM8K's training half.

    pointwork train recipe planner --out DIR
    pointwork train recipe worker-small --data BENCH_DATA --out DIR
    pointwork train recipe reader --out DIR

Prompts are those of the runtime itself, so that what is trained is what is asked. A tenth of our own examples (by
hash; for the reader, of each ten folders of texts the last) is never trained on: it says what an adapter is worth
before any suite does.
"""
