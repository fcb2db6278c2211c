"""What the files say around a task, value by value: rows that it names, settings, sentences.

``rows.py`` finds rows of tables, ``settings.py`` sections of settings, ``figures.py`` writes dates, times and
numbers in one form, ``gathered.py`` puts all of it together: what a trained decomposer is shown, and what the
values that it writes must stand in. ``queried.py`` adds what queries of the whole task say: totals, counts, the row
with the most of something.
"""
