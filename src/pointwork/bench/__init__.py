"""``pointwork bench``: is a team worth its money, beside the model that it is made of?

``tasks``     what is asked: the starter suite under ``starter/``, or tasks of the user's own
``checkers``  whether an answer is right; ``reading`` finds the number, date or time that an answer says
``systems``   who is asked: the team, and what it must beat; ``parsers`` is the one without a model
``metering``  the same meter and the same price around every model
``runner``    asks each system each task, keeps what is done, goes on where it was
``report``    success, money, time and their intervals; ``plot`` draws them

Importing this package imports none of them.
"""
