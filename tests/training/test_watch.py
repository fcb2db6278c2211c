from pointwork.training.watch import Watch


def watched(rewards: list[float], held_out: list[tuple[int, float]], **options: float) -> Watch:
    watch = Watch(int(options.get("patience", 0)), options.get("tolerance", 0.0))
    evaluations = dict(held_out)
    for step, reward in enumerate(rewards, 1):
        watch.train(step, reward)
        if step in evaluations:
            watch.evaluate(step, evaluations[step])
    return watch


def test_alarm_when_the_reward_rises_and_the_held_out_metric_falls() -> None:
    rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert "rose by 0.300" in watched(rising, [(2, 0.5), (4, 0.4), (6, 0.3)]).alarm


def test_no_alarm_otherwise() -> None:
    rising, falling = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert watched(rising, [(2, 0.5), (4, 0.6), (6, 0.7)]).alarm == ""  # both rise
    assert watched(falling, [(2, 0.5), (4, 0.4), (6, 0.3)]).alarm == ""  # both fall
    assert watched(rising, [(2, 0.5), (4, 0.4)]).alarm == ""  # one evaluation may be chance
    assert watched(rising, [(2, 0.5), (4, 0.3), (6, 0.4)]).alarm == ""  # it recovers
    assert watched(rising, [(2, 0.5), (4, 0.49), (6, 0.48)], tolerance=0.05).alarm == ""  # noise
    assert watched([], []).alarm == ""


def test_patience_counts_evaluations_since_the_best() -> None:
    watch = Watch(patience=2)
    assert [watch.evaluate(step, value) for step, value in ((0, 0.1), (5, 0.3), (10, 0.3))] == [True, True, False]
    assert not watch.exhausted
    watch.evaluate(15, 0.2)
    assert watch.exhausted
    assert (watch.best, watch.best_step) == (0.3, 5)
    assert not Watch(patience=0).exhausted


def test_the_state_goes_through_json() -> None:
    import json

    watch = watched([0.1, 0.2, 0.3, 0.4], [(2, 0.5), (4, 0.4)], patience=1)
    again = Watch(patience=1)
    again.restore(json.loads(json.dumps(watch.state())))
    assert again == watch


def test_what_is_no_number_is_never_the_best() -> None:
    nan = float("nan")
    watch = watched([0.1, 0.2, 0.3, 0.4], [(1, nan), (2, 0.5), (3, nan), (4, 0.4)], patience=3)
    assert (watch.best, watch.best_step, watch.exhausted) == (0.5, 2, False)
    lost = watched([0.1, 0.2, 0.3], [(1, nan), (2, nan), (3, nan)], patience=3)
    assert (lost.best, lost.alarm, lost.exhausted) == (None, "", True)
