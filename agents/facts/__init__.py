"""What the files say around a task, value by value: rows that it names, settings, sentences.

``rows.py`` finds rows of tables, ``settings.py`` sections of settings, ``figures.py`` writes dates, times and
numbers in one form, ``gathered.py`` puts all of it together: what a trained decomposer is shown, and what the
values that it writes must stand in (``standing.py``). ``queried.py`` adds what queries of the whole task say;
``groups.py`` finds the rows about a thing that is named, or about several at once, ``summed.py`` says what they
come to, ``limits.py`` finds those beyond a limit, ``topmost.py`` which has the most of something. ``shares.py`` and
``hours.py`` read shares and hours in words.
"""
